import { countWords } from '../kernel/count-words.ts';
import type { FeedConsumer } from '../ledger/feed/consumer-report.ts';
import { durationWords } from './status-words.ts';

/** `at event 117 · 3 events behind (12 s) · failing: it answered 500`. */
export function consumerWords(consumer: FeedConsumer): string {
  const { position, lagEvents, lagSeconds, state } = consumer;
  const reason = stateReason(consumer);
  const since = lagSeconds === null ? '' : ` (${durationWords(lagSeconds)})`;
  const behind =
    lagEvents <= 0
      ? 'up to date'
      : `${countWords(lagEvents)} ${lagEvents === 1 ? 'event' : 'events'} behind${since}`;
  return [`at event ${position}`, behind, reason === null ? state : `${state}: ${reason}`].join(
    ' · ',
  );
}

/** Reason of its state; for a webhook that is no longer set, what to do about it. Null if there is nothing to say. */
export function stateReason({ name, state, lastError }: FeedConsumer): string | null {
  if (state !== 'unset') return lastError;
  return `no daemon has it in FEED_WEBHOOKS any more; set it again, and it goes on here, or remove it: delete from engine.webhooks where name = '${name}'`;
}
