import type { ServiceSettings } from '../config/settings.ts';
import { LedgerError } from '../kernel/errors.ts';
import type { Environment } from '../kernel/vocabulary.ts';
import { buildRequest } from '../service/transport/build-request.ts';
import { makeSigner } from './signing-variants.ts';

/**
 * Data that a request's signature covers, for comparison with the service's support. Contains no secret and no
 * signature.
 */
export type SigningReport = {
  method: 'GET' | 'POST';
  url: string;
  nonce: string;
  stringToSign: string;
  /** Null for a shared secret. */
  digestHex: string | null;
  /** Null for a shared secret. */
  publicKey: string | null;
};

const example = { cure: 'for example: `wallet-ledger doctor --sign GET /v1/wallet/coin`' };

/**
 * Describes the signature of a request without a body. `target` is its path from `/v1` on, with or without a query.
 * Sends nothing. Throws LedgerError `usage` or `settings`.
 */
export async function describeSigning(
  service: ServiceSettings,
  request: { method: string; target: string; nonce: string },
  env: Environment,
): Promise<SigningReport> {
  const method = request.method.toUpperCase();
  if (method !== 'GET' && method !== 'POST') {
    throw new LedgerError(
      'usage',
      `--sign ${request.method}: the method must be GET or POST`,
      example,
    );
  }
  const [path = '', ...rest] = request.target.split('?');
  if (!path.startsWith('/')) {
    throw new LedgerError(
      'usage',
      `--sign ${method} ${path}: the path must begin with a slash`,
      example,
    );
  }
  const query = [...new URLSearchParams(rest.join('?'))];
  const built = buildRequest(service.baseUrl, { method, path, query }, request.nonce);
  const described = (await makeSigner(service, env)).describe?.(built);
  if (!described) {
    throw new LedgerError('settings', 'the string to sign is not known for a signer module', {
      cure: 'log it in the module itself',
    });
  }
  return { method, url: built.url.href, nonce: request.nonce, ...described };
}
