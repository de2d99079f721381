import { expect, test } from 'vitest';
import { parseSettings } from '../../src/config/parse-settings.ts';
import { describeSigning } from '../../src/doctor/describe-signing.ts';
import vectors from '../fixtures/signing-vectors.json' with { type: 'json' };

const gets = vectors.filter(({ method }) => method === 'GET');

test.each(gets)('string, digest and key are those of the vector $id', async (vector) => {
  const { service } = parseSettings(
    {
      WALLET_BASE_URL: 'https://service.example',
      WALLET_API_SECRET: vector.secretHex ?? vector.pkcs8Hex ?? '',
      WALLET_SIGNER: vector.scheme === 'body' ? 'body-ed25519' : 'concat-ecdsa',
    },
    () => '',
    { needs: ['service'] },
  );
  const target = vector.query ? `${vector.path}?${vector.query}` : `${vector.path}`;
  const report = await describeSigning(
    service,
    { method: 'get', target, nonce: vector.nonce ?? '' },
    {},
  );
  expect(report.stringToSign).toBe(vector.stringToSign);
  if (vector.digest) expect(report.digestHex).toBe(vector.digest);
  expect(report.publicKey).toBe(vector.apiKey);
});
