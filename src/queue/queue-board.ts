import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { HonoAdapter } from '@bull-board/hono';
import { serveStatic } from '@hono/node-server/serve-static';
import type { Queue } from 'bullmq';
import { Hono } from 'hono';
import type { JobQueue } from './open-queue.ts';

/** Answers any request under the board's base path. */
export type QueueBoard = (request: Request) => Promise<Response>;

/**
 * Creates a read-only Bull Board for the queue. It costs some megabytes, so the caller imports it on the first visit.
 * Answers 503 with a fixed message if the backend fails or does not support the request.
 */
export function createQueueBoard(queue: JobQueue, basePath: string): QueueBoard {
  const adapter = new HonoAdapter(serveStatic).setBasePath(basePath);
  // The adapter supports every backend, but its types accept only Redis.
  const shown = new BullMQAdapter(queue as unknown as Queue, { readOnlyMode: true });
  createBullBoard({
    queues: [shown],
    // The two packages ship separate copies of one interface type.
    serverAdapter: adapter,
    options: {
      uiConfig: { boardTitle: 'wallet-ledger: queue', hideDocsLink: true, hideRedisDetails: true },
    },
  });
  const board = new Hono().route(basePath, adapter.registerPlugin());
  return async (request) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      return new Response('the board is read-only\n', {
        status: 405,
        headers: { Allow: 'GET, HEAD' },
      });
    }
    const response = await board.fetch(request);
    if (response.status >= 500) return unavailable();
    return isHtml(response) ? withoutForeignLinks(response) : response;
  };
}

/** Uses the format of errors that the board's page displays. */
function unavailable(): Response {
  const key = 'ERRORS.INTERNAL_SERVER_ERROR';
  const message = 'The queue did not answer.';
  return Response.json({ error: { key }, message }, { status: 503 });
}

function isHtml(response: Response): boolean {
  return response.headers.get('Content-Type')?.startsWith('text/html') ?? false;
}

/** Removes the link to a third-party font server; the browser's own font is sufficient. */
async function withoutForeignLinks(response: Response): Promise<Response> {
  const page = await response.text();
  return new Response(page.replaceAll(/<link\b[^>]*\bhref="https?:[^>]*>/g, ''), response);
}
