import type { FeedEvent } from '../../ledger/feed/event-store.ts';
import { printableText } from '../../service/decoding/printable-text.ts';

/** Returns one line for a terminal: time (UTC), coin, amount, state, what it concerns, what happened, and for whom. */
export function describeEvent({ recordedAt, kind, key, data }: FeedEvent): string {
  const text = (name: string) => (typeof data[name] === 'string' ? printableText(data[name]) : '');
  const isOfBalance = kind.startsWith('balance.');
  const columns = [
    recordedAt.slice(11, 19),
    text('symbol').padEnd(6),
    (isOfBalance ? text('balance') : text('amount')).padStart(16),
    text('state').padEnd(10),
    printableText(key),
    [kind, text('stream')].filter((word) => word !== '').join(' '),
    text('reference') && `for ${text('reference')}`,
    text('reason') || text('what'),
  ];
  return columns.filter((column) => column !== '').join('  ');
}
