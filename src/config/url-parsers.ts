import { parsedOrThrown } from './setting-parsers.ts';

/**
 * Parses `{base_url}` of the wallet service; returns it without a trailing slash. Another setting decides if http is
 * allowed.
 */
export const serviceBaseUrl = parsedOrThrown((text) => {
  const url = readUrl(text);
  if (url?.protocol !== 'https:' && url?.protocol !== 'http:') {
    throw new Error('an https address, like https://wallet.example.com');
  }
  if (url.username !== '' || url.password !== '') {
    throw new Error('an address without a user name and a password');
  }
  if (/[?#]/.test(text)) throw new Error('an address without a query and without a fragment');
  return url.href.replace(/\/+$/, '');
});

function readUrl(text: string): URL | null {
  return URL.canParse(text) ? new URL(text) : null;
}
