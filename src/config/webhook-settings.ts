import { isLoopbackHost } from '../kernel/loopback.ts';
import type { Environment } from '../kernel/vocabulary.ts';
import { readSecret } from './read-secret.ts';
import { parsedOrThrown } from './setting-parsers.ts';

/** A receiver of FEED_WEBHOOKS. */
export type WebhookAddress = { name: string; url: string };
/** A receiver with its secrets. `isPrivateAllowed`: its name may lead to an address of a private network. */
export type WebhookSettings = WebhookAddress & {
  secrets: readonly string[];
  isPrivateAllowed: boolean;
};

const receiversMax = 20;
const secretBytesMin = 24;
const secretsMax = 2;
const ownName = /^FEED_WEBHOOK_(.+?)_(SECRET|SECRET_FILE|PRIVATE)$/;
const example = 'name=https://…, comma-separated, such as shop=https://shop.example.com/hooks';

/** Parses `shop=https://…,crm=https://…`. */
export const webhookAddresses = parsedOrThrown((text): readonly WebhookAddress[] => {
  const receivers = text.split(',').map(parseReceiver);
  if (receivers.length > receiversMax) throw new Error(`at most ${receiversMax} receivers`);
  if (new Set(receivers.map(({ name }) => name)).size < receivers.length)
    throw new Error('each name only once');
  return receivers;
});

function parseReceiver(text: string): WebhookAddress {
  const [, name, address = ''] = /^\s*([a-z][a-z0-9_]{0,30})\s*=\s*(\S+)\s*$/.exec(text) ?? [];
  const url = URL.canParse(address) ? new URL(address) : null;
  if (name === undefined || url === null || !/^https?:$/.test(url.protocol))
    throw new Error(`${example}; a name has up to 31 lower-case letters, digits and _`);
  if (url.protocol === 'http:' && !isLoopbackHost(url.hostname))
    throw new Error(`https for ${name}; plain http only on a loopback address`);
  if (url.username !== '' || url.password !== '' || url.hash !== '')
    throw new Error(`an address of ${name} without a user name, a password and a fragment`);
  return { name, url: url.href };
}

/**
 * Reads FEED_WEBHOOK_<NAME>_SECRET (or _FILE) and FEED_WEBHOOK_<NAME>_PRIVATE of each receiver. `secretTexts` must
 * never be printed.
 */
export function readWebhooks(
  env: Environment,
  readFile: (path: string) => string,
  receivers: readonly WebhookAddress[],
) {
  const problems: string[] = [];
  const files: string[] = [];
  const webhooks = receivers.map(({ name, url }): WebhookSettings => {
    const prefix = `FEED_WEBHOOK_${name.toUpperCase()}`;
    const isPrivateAllowed = env[`${prefix}_PRIVATE`]?.trim() || 'no';
    if (!/^(yes|no)$/.test(isPrivateAllowed))
      problems.push(`${prefix}_PRIVATE: expected yes or no`);
    return { name, url, secrets: secretsOf(prefix), isPrivateAllowed: isPrivateAllowed === 'yes' };
  });
  return {
    webhooks,
    problems,
    files,
    secretTexts: webhooks.flatMap(({ secrets }) => secrets),
    warnings: warnOfStrangers(env, receivers),
  };

  function secretsOf(prefix: string): string[] {
    const name = `${prefix}_SECRET`;
    try {
      const { text, file } = readSecret(env, name, readFile);
      if (file !== undefined) files.push(file);
      if (text === undefined) {
        problems.push(`${name}: not set (nor ${name}_FILE); expected: ${secretForm}`);
        return [];
      }
      const secrets = text.split(/[\s,]+/).filter((part) => part !== '');
      if (secrets.length > secretsMax || !secrets.every(isSecret))
        problems.push(`${name}: the value is not valid; expected: ${secretForm}`);
      return secrets;
    } catch (error) {
      problems.push((error as Error).message);
      return [];
    }
  }
}

const secretForm =
  `whsec_ and at least ${secretBytesMin} random bytes in base64 (\`echo whsec_$(openssl rand -base64 32)\`); ` +
  'two of them, with a blank between, while one replaces the other';

function isSecret(text: string): boolean {
  const [, base64] =
    /^whsec_((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)$/.exec(text) ?? [];
  return base64 !== undefined && Buffer.from(base64, 'base64').length >= secretBytesMin;
}

function warnOfStrangers(env: Environment, receivers: readonly WebhookAddress[]): string[] {
  const known = receivers.map(({ name }) => name.toUpperCase());
  return Object.keys(env)
    .filter((name) => {
      const [, receiver] = ownName.exec(name) ?? [];
      return receiver !== undefined && !known.includes(receiver);
    })
    .sort((a, b) => (a < b ? -1 : 1))
    .map((name) => `${name} is set, but FEED_WEBHOOKS names no such receiver`);
}
