import type { FeedConsumer } from '../ledger/feed/consumer-report.ts';
import { countWords, durationWords } from './status-words.ts';

/** `at event 117 · 3 events behind (12 s) · failing: it answered 500`. */
export function consumerWords(consumer: FeedConsumer): string {
  const { position, lagEvents, lagSeconds, state, lastError } = consumer;
  const behind =
    lagEvents <= 0
      ? 'up to date'
      : `${countWords(lagEvents)} ${lagEvents === 1 ? 'event' : 'events'} behind (${durationWords(lagSeconds)})`;
  const why = lastError === null ? '' : `: ${lastError}`;
  return [`at event ${position}`, behind, `${state}${why}`].join(' · ');
}
