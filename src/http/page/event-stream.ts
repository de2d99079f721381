import type { Context } from 'hono';
import { type SSEStreamingApi, streamSSE } from 'hono/streaming';
import type { LiveStatus } from '../status-page/live-status.ts';
import type { Page } from './page-frame.ts';

/** Time after which a client that has not taken an event is disconnected. */
const slownessMaxMs = 15_000;
const retryAfterSeconds = 30;

/**
 * Answers with server-sent events that carry the title and the parts of the page that changed since the last event. An
 * event is sent with each tick even without changes, because the page treats silence as a lost connection.
 */
export function answerWithEvents(c: Context, live: LiveStatus): Response {
  // The answer to HEAD has no body, so no reader would ever end its stream.
  if (c.req.method === 'HEAD') return c.body(null, 200, { 'Content-Type': 'text/event-stream' });
  let send = (_page: Page): void => undefined;
  let end = (): void => undefined;
  const isOver = new Promise<void>((resolve) => {
    end = resolve;
  });
  const leave = live.listen({ onPage: (page) => send(page), end });
  if (leave === null) {
    const headers = { 'Retry-After': String(retryAfterSeconds) };
    return c.text('too many open event streams; the page itself is still served\n', 503, headers);
  }
  return streamSSE(c, async (stream) => {
    send = createEventWriter(stream);
    stream.onAbort(end);
    await isOver;
    leave();
  });
}

/**
 * Returns a function that writes one event at a time. A page that arrives while an event is in flight is skipped,
 * because the next one contains its changes. So a slow client costs the memory of one event, and a client that stops
 * reading is disconnected.
 */
function createEventWriter(stream: SSEStreamingApi): (page: Page) => void {
  const sent = new Map<string, string>();
  let sendingSince: number | null = null;

  async function send({ title, parts }: Page): Promise<void> {
    const changed = Object.entries(parts).filter(([name, part]) => sent.get(name) !== part);
    for (const [name, part] of changed) sent.set(name, part);
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
