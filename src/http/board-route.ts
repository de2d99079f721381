import type { Handler } from 'hono';
import { LedgerError, toError } from '../kernel/errors.ts';
import type { Log } from '../kernel/log.ts';
import type { QueueBoard } from '../queue/queue-board.ts';
import { answerWithin } from './page/cache-for.ts';
import { securityHeaders } from './page/page-style.ts';

export const boardPath = '/queues';

const answerMs = 10_000;

/** Security headers with a policy for the board's page, which loads its own scripts, images and styles, some inline. */
const boardHeaders: Readonly<Record<string, string>> = {
  ...securityHeaders,
  'Content-Security-Policy': [
    "default-src 'none'",
    "script-src 'self'",
    "worker-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'self'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
};

/** Allows caching: the board's scripts have hundreds of kilobytes and a content hash in their names. */
const keptHeaders = { ...boardHeaders, 'Cache-Control': 'private, max-age=604800' };
const keptPaths = new RegExp(`^${boardPath}/static/.*\\.[0-9a-f]{8,}\\.`);

/** Returns the headers for a successful answer of the board. */
export function headersOfBoard(path: string): Readonly<Record<string, string>> {
  return keptPaths.test(path) ? keptHeaders : boardHeaders;
}

export function isOfBoard(path: string): boolean {
  return path === boardPath || path.startsWith(`${boardPath}/`);
}

/** Serves the board, opening it with the first request. */
export function createBoardRoute(options: {
  openBoard(basePath: string): Promise<QueueBoard> | null;
  log: Log;
}): Handler {
  let opening: Promise<QueueBoard> | null = null;
  return async (c) => {
    opening ??= options.openBoard(boardPath);
    if (opening === null) return c.text('the queue is not open yet\n', 503);
    try {
      return await answerWithin((await opening)(c.req.raw), answerMs);
    } catch (thrown) {
      // If the board could not be opened, the next request opens it again.
      opening.catch(() => {
        opening = null;
      });
      const error = toError(thrown);
      options.log.warn({ error, path: c.req.path }, 'the queue cannot be shown');
      const words = error instanceof LedgerError ? error.message : 'the queue does not answer';
      return c.text(`${words}\n`, 503);
    }
  };
}
