import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { HonoAdapter } from '@bull-board/hono';
import { serveStatic } from '@hono/node-server/serve-static';
import type { Queue } from 'bullmq';
import { Hono } from 'hono';
import type { JobQueue } from './open-queue.ts';

/** Answers whatever is asked for under the path that the board was made for. */
export type QueueBoard = (request: Request) => Promise<Response>;

/**
 * Bull Board over the queue: shows, changes nothing. Costs some megabytes, so it is imported when somebody looks.
 * What the backend cannot tell, or not now, is answered with 503 and the reason.
 */
export function createQueueBoard(queue: JobQueue, basePath: string): QueueBoard {
  const adapter = new HonoAdapter(serveStatic).setBasePath(basePath);
  // The adapter works with every backend, though its types name Redis alone.
  const shown = new BullMQAdapter(queue as unknown as Queue, { readOnlyMode: true });
  createBullBoard({
    queues: [shown],
    // The packages' types are those of two copies of one interface.
    serverAdapter: adapter,
    options: {
      uiConfig: { boardTitle: 'wallet-ledger: queue', hideDocsLink: true, hideRedisDetails: true },
    },
  });
  const board = new Hono().route(basePath, adapter.registerPlugin());
  return async (request) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      return new Response('the board only shows\n', {
        status: 405,
        headers: { Allow: 'GET, HEAD' },
      });
    }
    const response = await board.fetch(request);
    if (response.status >= 500) return cannotTell();
    return isHtml(response) ? withoutForeignLinks(response) : response;
  };
}

/** In the form that the board's page shows to its reader. */
function cannotTell(): Response {
  const key = 'ERRORS.INTERNAL_SERVER_ERROR';
  const message = 'The queue did not answer this question.';
  return Response.json({ error: { key }, message }, { status: 503 });
}

function isHtml(response: Response): boolean {
  return response.headers.get('Content-Type')?.startsWith('text/html') ?? false;
}

/** The page asks another company's server for its font; the browser's own does as well. */
async function withoutForeignLinks(response: Response): Promise<Response> {
  const page = await response.text();
  return new Response(page.replaceAll(/<link\b[^>]*\bhref="https?:[^>]*>/g, ''), response);
}
