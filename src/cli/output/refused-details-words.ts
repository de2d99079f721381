import { countWords } from '../../kernel/count-words.ts';
import type { RefusedDetails } from '../../ledger/transactions/refused-details.ts';
import { printableText } from '../../service/decoding/printable-text.ts';

/** `1 could not be fetched, O1 last: HTTP 404; a daemon asks for it again at 2026-01-01 00:00:15 UTC`. */
export function refusedDetailsWords(refused: RefusedDetails): string {
  const { count, orderNo, reason, askedAgainAt } = refused;
  const why = reason === null ? '' : `: ${printableText(reason)}`;
  const again =
    count === 1
      ? `a daemon asks for it again at ${askedAgainAt}`
      : `a daemon asks for the first of them again at ${askedAgainAt}`;
  return `${countWords(count)} could not be fetched, ${printableText(orderNo)} last${why}; ${again}`;
}
