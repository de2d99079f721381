import type { Context } from 'hono';
import { stream as streamBody } from 'hono/streaming';
import type { StreamingApi } from 'hono/utils/stream';
import { abortableSleep } from '../../kernel/abortable-sleep.ts';
import { toError } from '../../kernel/errors.ts';
import type { Log } from '../../kernel/log.ts';
import { withAnySignal } from '../../kernel/with-any-signal.ts';
import type { FeedEvent } from '../../ledger/feed/event-store.ts';
import type { FeedReader } from '../../ledger/feed/feed-reader.ts';
import { toJsonText } from '../../ledger/feed/json-text.ts';

/** Interval of the keep-alive messages. The server closes a connection that is idle for longer. */
const aliveEveryMs = 10_000;
/**
 * Number of events per write. The next events are read after the client has taken these, so a slow client costs little
 * memory.
 */
const pageMax = 100;

/**
 * Answers with server-sent events, at first those after the number `after`, until the client leaves or `signal` aborts.
 * The stream also ends when the feed no longer has the position: a client that connects again gets the reason.
 */
export function answerWithFeed(
  c: Context,
  options: { feed: FeedReader; after: number; signal: AbortSignal; log: Log },
): Response {
  c.header('Content-Type', 'text/event-stream; charset=utf-8');
  // Tells proxies not to buffer, because they would hold events back.
  c.header('X-Accel-Buffering', 'no');
  return streamBody(
    c,
    (stream) => sendEvents(stream, options),
    async (error) =>
      options.log.warn({ error: toError(error) }, 'a stream of the feed was cut off'),
  );
}

async function sendEvents(
  stream: StreamingApi,
  { feed, after, signal }: { feed: FeedReader; after: number; signal: AbortSignal },
): Promise<void> {
  const disconnected = new AbortController();
  stream.onAbort(() => disconnected.abort());
  await stream.write('retry: 1000\n\n');
  await withAnySignal([signal, disconnected.signal], async (over) => {
    for (let position = after; !over.aborted; ) {
      const wake = feed.nextWake();
      const page = await feed.read(position, pageMax);
      if (page.kind !== 'events') return;
      const last = page.events.at(-1);
      if (last) {
        await stream.write(page.events.map(toServerSentEvent).join(''));
        position = last.seq;
      } else if (await isSilent(wake, over)) await stream.write(':\n\n');
    }
  });
}

/** Waits for the wake; returns true if it does not come before the next keep-alive message is due. */
async function isSilent(wake: Promise<void>, over: AbortSignal): Promise<boolean> {
  const woken = new AbortController();
  return await withAnySignal([over, woken.signal], async (signal) => {
    const silent = abortableSleep(aliveEveryMs, signal).then(
      () => true,
      () => false,
    );
    const isDue = await Promise.race([wake.then(() => false), silent]);
    woken.abort();
    return isDue;
  });
}

function toServerSentEvent(event: FeedEvent): string {
  return `id: ${event.seq}\ndata: ${toJsonText(event)}\n\n`;
}
