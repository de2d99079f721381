import { toError } from '../../kernel/errors.ts';
import { redactValues } from '../../kernel/redact.ts';
import type { FeedEvent } from '../../ledger/feed/event-store.ts';
import type { FeedReader } from '../../ledger/feed/feed-reader.ts';
import type { CommandContext } from '../context/command-context.ts';
import { describeEvent } from './describe-event.ts';

const pageMax = 100;
/** Fewer lines than a small terminal has, so that the reminder stays visible. */
const linesBetween = 15;

/**
 * Prints a line for each transaction that arrives or changes, until the shutdown. Prints the reminder first, and on a
 * terminal again before the lines have moved it away.
 */
export async function showArrivals(
  feed: FeedReader,
  { log, shutdown: { signal }, redact }: CommandContext,
  reminder: readonly string[],
): Promise<void> {
  const over = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
  const print = createPrinter(`\n${reminder.join('\n')}\n\n`);
  let position = await feed.head();
  while (!signal.aborted) {
    const wake = feed.nextWake();
    const events = await readBehind(position);
    redactValues(events, redact).forEach(print);
    position = events.at(-1)?.seq ?? position;
    if (events.length === 0) await Promise.race([wake, over]);
  }

  async function readBehind(after: number): Promise<FeedEvent[]> {
    try {
      const page = await feed.read(after, pageMax);
      return page.kind === 'events' ? page.events : [];
    } catch (error) {
      if (!signal.aborted) log.warn({ error: toError(error) }, 'the change feed cannot be read');
      return [];
    }
  }
}

/** Prints the reminder. Returns the function that prints an event, if it is news. */
function createPrinter(reminder: string): (event: FeedEvent) => void {
  const isNews = createNewsFilter();
  let lines = 0;
  process.stdout.write(reminder);
  return (event) => {
    if (!isNews(event)) return;
    process.stdout.write(`${describeEvent(event)}\n`);
    lines += 1;
    if (process.stdout.isTTY && lines % linesBetween === 0) process.stdout.write(reminder);
  };
}

/** Returns a filter for transactions that are new or have another state: fields that only details have are no news. */
function createNewsFilter(): (event: FeedEvent) => boolean {
  const states = new Map<string, unknown>();
  return ({ kind, key, data }) => {
    if (!kind.startsWith('transaction.')) return false;
    const isKnown = states.has(key) && states.get(key) === data['state'];
    states.set(key, data['state']);
    return !isKnown || kind !== 'transaction.changed';
  };
}
