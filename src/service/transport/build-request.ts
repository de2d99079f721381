import type { RequestToSign } from '../signing/signer.ts';

/** A request before it has a nonce. `path` begins with `/v1` and is appended to the base URL. */
export type RequestParts = Readonly<{
  method: 'GET' | 'POST';
  path: string;
  query?: ReadonlyArray<[string, string]>;
  json?: Readonly<Record<string, unknown>>;
}>;

/** Fixes the bytes of a request, so that the signed and the sent request are identical. */
export function buildRequest(baseUrl: string, parts: RequestParts, nonce: string): RequestToSign {
  const { method, path, query = [], json } = parts;
  const rawQuery = new URLSearchParams([...query]).toString();
  const search = rawQuery && `?${rawQuery}`;
  const url = new URL(baseUrl.replace(/\/+$/, '') + path + search);
  const body = json === undefined ? '' : JSON.stringify(json);
  return Object.freeze({ method, url, path: url.pathname, query, rawQuery, body, json, nonce });
}
