import ky from 'ky';
import { LedgerError, toError } from '../../kernel/errors.ts';
import { printableText } from '../decoding/printable-text.ts';
import type { AnswerToVerify, RequestToSign, Signer } from '../signing/signer.ts';
import { isRedirect } from './judge-answer.ts';
import { type Fetch, pooledFetch } from './pooled-fetch.ts';

/**
 * Signs and sends a request once, and reads its whole answer. Does not follow redirects. Throws service-authentication
 * for unusable headers, service-unreachable without a complete answer, and service-malformed if the answer is not text.
 * `isLenient` replaces bytes that are not UTF-8.
 */
export async function sendRequest(
  request: RequestToSign,
  signer: Signer,
  signal: AbortSignal,
  fetch: Fetch = pooledFetch,
  isLenient = false,
): Promise<AnswerToVerify> {
  const { signature, nonce = request.nonce, headers: own } = await signer.sign(request);
  const given = {
    accept: 'application/json',
    'accept-encoding': 'gzip',
    'user-agent': 'wallet-ledger',
    ...(request.body !== '' && { 'content-type': 'application/json' }),
    ...own,
    'BIZ-API-KEY': signer.apiKey,
    'BIZ-API-NONCE': nonce,
    'BIZ-API-SIGNATURE': signature,
  };
  assertHeaders(given);
  const headers = inLowerCase(given);
  try {
    const { method, url, body } = request;
    const response = await ky(url, {
      method,
      ...(body !== '' && { body }),
      // Sends the signed parts themselves: ky would copy the headers four times, and its Request would have to be read
      // back.
      fetch: () => fetch({ method, url, headers, body }, signal, isLenient),
      redirect: 'manual',
      // The caller has the only layer of retries, because each attempt needs a ticket and a signature of its own, and
      // the only deadline, which the signer shares.
      retry: 0,
      timeout: false,
      throwHttpErrors: false,
    });
    const { status } = response;
    const rawBody = isRedirect(status) ? '' : await response.text();
    return { status, headers: response.headers, rawBody };
  } catch (error) {
    throw error instanceof LedgerError ? error : networkError(error);
  }
}

/** Lets a later header replace an earlier one, whatever the case of their names. */
function inLowerCase(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
}

function assertHeaders(headers: Record<string, string>): void {
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value === 'string' && /^[\t\x20-\x7e\x80-\xff]*$/.test(value)) continue;
    throw new LedgerError('service-authentication', `the signer gave no usable value for ${name}`);
  }
}

/** Joins the messages of the causes, because fetch itself reports only "fetch failed". */
function networkError(thrown: unknown): LedgerError {
  const messages: string[] = [];
  for (let error: unknown = thrown; error !== undefined && messages.length < 4; ) {
    const { message, code, cause } = toError(error) as Error & { code?: unknown };
    messages.push(message || String(code ?? 'no message'));
    error = cause;
  }
  const message = `no answer: ${printableText(messages.join(': '))}`;
  return new LedgerError('service-unreachable', message, { cause: thrown });
}
