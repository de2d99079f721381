import { LedgerError } from '../../kernel/errors.ts';
import type { RequestToSign } from './signer.ts';

/**
 * Builds the text that a recipe signs. docs/wallet-service-api.md, section 5, does not show it; these are the forms of
 * services with the same three headers. `apiKey` is the value of BIZ-API-KEY.
 */
export type StringToSign = (request: RequestToSign, apiKey: string) => string;

/** Builds `METHOD|PATH|NONCE|PARAMS`, with the fields of query and body together, sorted by name. */
export const signParams: StringToSign = ({ method, path, nonce, query, json }) =>
  [method, path, nonce, sortedPairs([...query, ...bodyFields(json)])].join('|');

/** Builds `METHOD|PATH|NONCE|QUERY|BODY`, with query and body exactly as sent. */
export const signBody: StringToSign = ({ method, path, nonce, rawQuery, body }) =>
  [method, path, nonce, rawQuery, body].join('|');

/**
 * Builds `data{DATA}path{PATH}timestamp{NONCE}version1.0.0{KEY}`. DATA is the body without spaces and line breaks, or
 * the sorted query.
 */
export const signConcatenation: StringToSign = ({ path, nonce, query, body }, apiKey) => {
  const data = body === '' ? sortedPairs(query) : body.replace(/[ \r\n]/g, '');
  return `data${data}path${path}timestamp${nonce}version1.0.0${apiKey}`;
};

// Sorts by code unit, because the order of a locale would differ from the service's.
function sortedPairs(pairs: ReadonlyArray<readonly [string, string]>): string {
  return [...pairs]
    .sort(([a], [b]) => (a < b ? -1 : Number(a > b)))
    .map(([name, value]) => `${name}=${value}`)
    .join('&');
}

function bodyFields(json: RequestToSign['json']): Array<[string, string]> {
  return Object.entries(json ?? {}).map(([name, value]) => {
    if (value === null || typeof value === 'object') {
      throw new LedgerError(
        'settings',
        `the signing recipe has no form for the body field ${name}: choose another WALLET_SIGNER`,
      );
    }
    return [name, String(value)];
  });
}
