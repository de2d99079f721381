import { isLoopbackHost } from '../kernel/loopback.ts';
import type { Environment } from '../kernel/vocabulary.ts';
import type { SettingValues } from './settings.ts';

/**
 * Returns the mistakes between shared settings that are readable one by one. A value that did not parse is absent here,
 * because it has its own problem.
 */
export function checkShared(values: Partial<SettingValues>, env: Environment): string[] {
  return [
    ...checkStatusPages(values),
    ...checkTokens(values),
    ...(env['NODE_TLS_REJECT_UNAUTHORIZED'] === '0'
      ? [
          'NODE_TLS_REJECT_UNAUTHORIZED: 0 disables certificate checks; unset it, and for a private ' +
            'authority set NODE_EXTRA_CA_CERTS to the path of its certificate',
        ]
      : []),
  ];
}

const tokenLengthMin = 16;

function checkStatusPages(values: Partial<SettingValues>): string[] {
  const { HTTP_HOST: host, HTTP_PORT: port, HTTP_TOKEN: token } = values;
  if (host === undefined || port === null || token === undefined || isLoopbackHost(host)) return [];
  if (token === null) {
    return [
      `HTTP_TOKEN: not set (nor HTTP_TOKEN_FILE); required because HTTP_HOST=${host} is not a loopback address`,
    ];
  }
  if (token.length >= tokenLengthMin) return [];
  return [
    `HTTP_TOKEN: fewer than ${tokenLengthMin} characters; it can be guessed, and HTTP_HOST=${host} is not a loopback address`,
  ];
}

/** Requires different tokens, so that the holder of one cannot use it for the purpose of another. */
function checkTokens(values: Partial<SettingValues>): string[] {
  const { HTTP_TOKEN: pages, HINT_TOKEN: hints, FEED_TOKEN: feed } = values;
  return [
    ...(hints && hints === pages
      ? [
          'HINT_TOKEN: the same as HTTP_TOKEN; whoever sends hints could read the status pages, so choose another one',
        ]
      : []),
    ...(feed && feed === pages
      ? [
          'FEED_TOKEN: the same as HTTP_TOKEN; whoever reads the status pages could read the feed, so choose another one',
        ]
      : []),
    ...(feed && feed === hints
      ? [
          'FEED_TOKEN: the same as HINT_TOKEN; whoever sends hints could read the feed, so choose another one',
        ]
      : []),
  ];
}
