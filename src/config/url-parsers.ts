import { parsed, parsedOrThrown } from './setting-parsers.ts';

/** Whether a host name or address, with or without the brackets of IPv6, is this machine itself. */
export function isLoopbackHost(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[|\]$/g, '');
  return name === 'localhost' || name === '::1' || /^127(\.\d{1,3}){3}$/.test(name);
}

/** `{base_url}` of the wallet service, without a slash at the end. */
export const serviceBaseUrl = parsedOrThrown((text) => {
  const url = readUrl(text);
  if (url?.protocol !== 'https:' && url?.protocol !== 'http:') {
    throw new Error('an https address, like https://wallet.example.com');
  }
  if (url.protocol === 'http:' && !isLoopbackHost(url.hostname)) {
    throw new Error('https; plain http only on a loopback address (127.0.0.1, ::1, localhost)');
  }
  if (url.username !== '' || url.password !== '') {
    throw new Error('an address without a user name and a password');
  }
  if (/[?#]/.test(text)) throw new Error('an address without a query and without a fragment');
  return url.href.replace(/\/+$/, '');
});

export const databaseUrl = addressOf('postgres', 'postgresql');
export const redisUrl = addressOf('redis', 'rediss');

function addressOf(...schemes: string[]) {
  const expected = schemes.map((scheme) => `${scheme}://…`).join(' or ');
  return parsed(`an address ${expected}`, (text) => {
    const url = readUrl(text);
    return url && schemes.includes(url.protocol.slice(0, -1)) ? text : undefined;
  });
}

function readUrl(text: string): URL | null {
  return URL.canParse(text) ? new URL(text) : null;
}
