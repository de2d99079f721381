import type { Refusal } from '../sandbox-answer.ts';
import type { SandboxOptions } from '../sandbox-options.ts';
import type { SandboxStats } from '../sandbox-stats.ts';
import { createSignatureCheck, signedText } from './check-signature.ts';
import { createNonceMemory } from './nonce-memory.ts';
import { type Credentials, signingRecipes } from './signing-recipes.ts';

export type ReceivedCall = {
  method: string;
  /** Whole path, including the base path. */
  path: string;
  rawQuery: string;
  body: string;
  headers: NodeJS.Dict<string | string[]>;
};

const noncesKept = 200_000;

/** Authenticates requests (docs/wallet-service-api.md, section 5). Returns the reason for a refusal, or null. */
export function createAuthentication(
  options: SandboxOptions,
  credentials: Credentials,
  stats: SandboxStats,
): (call: ReceivedCall) => Refusal | null {
  const recipe = { ...signingRecipes[credentials.signer] };
  if (options.signHash) recipe.hash = options.signHash;
  if (options.signEncoding) recipe.encoding = options.signEncoding;
  const isSigned = createSignatureCheck(recipe, credentials);
  const nonces = createNonceMemory(noncesKept);

  function signatureRefusal(call: ReceivedCall): Refusal | null {
    const apiKey = headerText(call, 'biz-api-key');
    const nonce = headerText(call, 'biz-api-nonce');
    const signature = headerText(call, 'biz-api-signature');
    if (apiKey === '' || nonce === '' || signature === '') return 'missing-headers';
    if (apiKey !== credentials.apiKey) return 'unknown-key';
    const text = signedText(recipe.form, { ...call, apiKey, nonce });
    return text !== null && isSigned(text, signature) ? null : 'signature';
  }

  function isNonceFresh(call: ReceivedCall): boolean {
    const isFresh = nonces.use(headerText(call, 'biz-api-nonce'));
    if (isFresh) stats.nonces++;
    else stats.noncesReused++;
    return isFresh || !options.nonceChecking;
  }

  return (call) => {
    if (options.signer === 'none') return null;
    const refusal = signatureRefusal(call);
    if (refusal !== null) {
      stats.signatureFailures++;
      return refusal;
    }
    return isNonceFresh(call) ? null : 'nonce';
  };
}

/** Returns the header's text; '' when it is missing. */
export function headerText(call: ReceivedCall, name: string): string {
  const value = call.headers[name];
  return typeof value === 'string' ? value : '';
}
