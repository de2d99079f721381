import type { ReadLedger } from '../../http/explorer/answer-page.ts';
import { type Redactor, redactValues } from '../../kernel/redact.ts';
import type { Ledger } from '../../ledger/connection/connect-ledger.ts';
import { readBriefly } from '../../ledger/connection/read-briefly.ts';
import { createSemaphore } from '../../service/transport/semaphore.ts';

/** Upper bound of the pages that read the ledger at once, so that the daemon keeps most of its connections. */
const readersMax = 3;

/**
 * Creates the reader of the pages to look things up. If too many pages read at once, a page waits at most `waitMs`;
 * then its read rejects with a TimeoutError. It reads for `readMs` at most. Its results are redacted, because the
 * service may echo a secret.
 */
export function createPageReader(
  ledger: Pick<Ledger, 'transaction'>,
  redact: Redactor,
  waitMs = 5_000,
  readMs?: number,
): ReadLedger {
  const slots = createSemaphore(readersMax);
  return async (work) => {
    const read = () => readBriefly(ledger, work, readMs);
    return redactValues(await slots.run('head', read, AbortSignal.timeout(waitMs)), redact);
  };
}
