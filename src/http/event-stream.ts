import type { Context } from 'hono';
import { type SSEStreamingApi, streamSSE } from 'hono/streaming';
import type { LiveStatus } from './live-status.ts';
import type { Page } from './page-frame.ts';

/** A reader who has not taken an event for so long is let go. */
const slownessMaxMs = 15_000;
const retryAfterSeconds = 30;

/**
 * Answers with server-sent events: title and those parts of the page that changed since the last one. One comes with
 * each tick even if nothing changed, because the page takes silence for a lost connection.
 */
export function answerWithEvents(c: Context, live: LiveStatus): Response {
  // Nobody would read the stream of an answer without a body, and so nothing would end it.
  if (c.req.method === 'HEAD') return c.body(null, 200, { 'Content-Type': 'text/event-stream' });
  let tell = (_page: Page): void => undefined;
  let end = (): void => undefined;
  const isOver = new Promise<void>((resolve) => {
    end = resolve;
  });
  const leave = live.listen({ tell: (page) => tell(page), end });
  if (leave === null) {
    const headers = { 'Retry-After': String(retryAfterSeconds) };
    return c.text('too many listen already; the page itself is still served\n', 503, headers);
  }
  return streamSSE(c, async (stream) => {
    tell = createTeller(stream);
    stream.onAbort(end);
    await isOver;
    leave();
  });
}

/**
 * Writes one event at a time: what comes while one is on its way is left out, since the next page tells it as well. So
 * a slow reader costs one event's memory, and one that reads nothing is cut off.
 */
function createTeller(stream: SSEStreamingApi): (page: Page) => void {
  const told = new Map<string, string>();
  let sendingSince: number | null = null;

  async function send({ title, parts }: Page): Promise<void> {
    const changed = Object.entries(parts).filter(([name, part]) => told.get(name) !== part);
    for (const [name, part] of changed) told.set(name, part);
    await stream.writeSSE({ data: JSON.stringify({ title, parts: Object.fromEntries(changed) }) });
  }

  return (page) => {
    if (sendingSince === null) {
      sendingSince = performance.now();
      void send(page).finally(() => {
        sendingSince = null;
      });
    } else if (performance.now() - sendingSince > slownessMaxMs) stream.abort();
  };
}
