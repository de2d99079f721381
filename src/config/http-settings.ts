import {
  headerText,
  hostName,
  integer,
  longToken,
  orOff,
  pathToken,
  type Setting,
  shortName,
} from './setting-parsers.ts';
import { webhookAddresses } from './webhook-settings.ts';

/** Settings of what a daemon serves over HTTP, part of `settingsTable`. */
export const httpSettings = {
  HTTP_HOST: {
    field: 'http.host',
    help: 'Address to serve the status pages on; other than loopback, HTTP_TOKEN is required, with at least 16 characters',
    default: '127.0.0.1',
    parser: hostName,
  },
  HTTP_PORT: {
    field: 'http.port',
    help: 'Port of the status pages; 0: any free port; off: no status pages',
    default: '8080',
    parser: orOff(integer(0, 65_535)),
  },
  HTTP_TOKEN: {
    field: 'http.token',
    help: 'Token for all pages except /healthz and /readyz (the feed and hints have tokens of their own): as Bearer token, or as the password of Basic authentication',
    default: null,
    parser: headerText,
    isSecret: true,
  },
  LEDGER_ENVIRONMENT: {
    field: 'http.environment',
    help: 'Name of the environment, such as production or test, on every page; any other than production and live gets a striped edge; not set: sandbox where the service is on this machine, otherwise none',
    default: null,
    parser: shortName,
  },
  HINT_TOKEN: {
    field: 'http.hintToken',
    help: 'Token of /hint/<token>, which makes a daemon read the start of the lists at once; not set: no hints; at least 16 characters',
    default: null,
    parser: pathToken,
    isSecret: true,
  },
  FEED_TOKEN: {
    field: 'http.feedToken',
    help: 'Bearer token of /feed and /feed/stream, the change feed over HTTP; not set: no feed over HTTP; at least 16 characters',
    default: null,
    parser: longToken,
    isSecret: true,
  },
  FEED_WEBHOOKS: {
    field: 'feed.webhooks',
    help: 'Receivers of the change feed: name=https://…, comma-separated. Each needs FEED_WEBHOOK_NAME_SECRET (or _FILE), with its name in capital letters: whsec_ and 24 or more bytes in base64, two with a blank between while one replaces the other. FEED_WEBHOOK_NAME_PRIVATE=yes lets its host name lead into a private network',
    default: null,
    parser: webhookAddresses,
  },
} as const satisfies Record<string, Setting>;
