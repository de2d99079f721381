import { LedgerError } from '../../kernel/errors.ts';
import type { RequestToSign } from './signer.ts';

/**
 * The text that a recipe signs. The service's document does not show it (section 5); these are the forms of
 * services that use the same three headers. `apiKey` is the value of BIZ-API-KEY.
 */
export type StringToSign = (request: RequestToSign, apiKey: string) => string;

/** `METHOD|PATH|NONCE|PARAMS`: the fields of query and body together, sorted by name. */
export const signParams: StringToSign = ({ method, path, nonce, query, json }) =>
  [method, path, nonce, sortedPairs([...query, ...bodyFields(json)])].join('|');

/** `METHOD|PATH|NONCE|QUERY|BODY`: both exactly as sent. */
export const signBody: StringToSign = ({ method, path, nonce, rawQuery, body }) =>
  [method, path, nonce, rawQuery, body].join('|');

/** `data{DATA}path{PATH}timestamp{NONCE}version1.0.0{KEY}`: DATA is the body without white space, or the sorted query. */
export const signConcatenation: StringToSign = ({ path, nonce, query, body }, apiKey) => {
  const data = body === '' ? sortedPairs(query) : body.replace(/[ \r\n]/g, '');
  return `data${data}path${path}timestamp${nonce}version1.0.0${apiKey}`;
};

// By code unit: a locale's order would differ from the service's.
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
