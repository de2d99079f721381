import { countWords } from '../../kernel/count-words.ts';
import { isFailing } from '../../ledger/feed/consumer-report.ts';
import { printableText } from '../../service/decoding/printable-text.ts';
import { consumerWords } from '../../status/consumer-words.ts';
import type { StatusReport } from '../../status/status-report.ts';
import { type TextStyle, wrap } from './terminal-text.ts';

/** Upper bound of shown consumers; one that fails is always shown. */
const consumersMax = 8;

/** Formats the consumers and webhooks of the change feed, and the position of each. */
export function feedLines({ feed }: StatusReport, { paint, width }: TextStyle): string[] {
  const shown = feed.filter((consumer, index) => index < consumersMax || isFailing(consumer));
  const hidden = feed.length - shown.length;
  return [
    ...shown.flatMap((consumer) => {
      const line = `${printableText(consumer.name)}: ${printableText(consumerWords(consumer))}`;
      return wrap(line, width - 4).map(
        (part) => `    ${isFailing(consumer) ? paint('red', part) : part}`,
      );
    }),
    ...(hidden === 0 ? [] : [`    and ${countWords(hidden)} more`]),
  ];
}
