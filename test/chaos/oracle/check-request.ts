import { createECDH, createHash, createPrivateKey, createPublicKey, verify } from 'node:crypto';

/** A request as received; `params` are the decoded fields of the query and the body. */
type ReceivedRequest = {
  method: string;
  path: string;
  nonce: string;
  signature: string;
  params: readonly (readonly [string, string])[];
};

export type KeyPair = {
  /** Hex. */
  privateKey: string;
  /** Value of BIZ-API-KEY: the compressed public key in hex. */
  apiKey: string;
  /** The recipe `params-secp256k1`: double SHA-256 over METHOD|PATH|NONCE|PARAMS, DER in hex. */
  isSigned(request: ReceivedRequest): Promise<boolean>;
};

const pkcs8Prefix = '303e020100301006072a8648ce3d020106052b8104000a042730250201010420';

export function createKeyPair(seed: number): KeyPair {
  const privateKey = createHash('sha256').update(`oracle ${seed}`).digest('hex');
  const ecdh = createECDH('secp256k1');
  ecdh.setPrivateKey(privateKey, 'hex');
  const publicKey = createPublicKey(
    createPrivateKey({
      key: Buffer.from(pkcs8Prefix + privateKey, 'hex'),
      format: 'der',
      type: 'pkcs8',
    }),
  );
  return {
    privateKey,
    apiKey: ecdh.getPublicKey('hex', 'compressed'),
    isSigned: ({ method, path, nonce, params, signature }) => {
      const sorted = [...params].sort(([a], [b]) => (a < b ? -1 : Number(a > b)));
      const payload = sorted.map(([name, value]) => `${name}=${value}`).join('&');
      const once = createHash('sha256').update([method, path, nonce, payload].join('|')).digest();
      // Off the main thread: it is the most expensive part of a request, and verifying adds the second hash.
      return new Promise((resolve) => {
        verify('sha256', once, publicKey, Buffer.from(signature, 'hex'), (error, isGood) =>
          resolve(error === null && isGood),
        );
      });
    },
  };
}
