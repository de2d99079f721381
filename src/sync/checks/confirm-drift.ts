import { abortableSleep } from '../../kernel/abortable-sleep.ts';
import type { TransactionRecord } from '../../kernel/wallet-records.ts';
import type { LedgerDb } from '../../ledger/connection/connect-ledger.ts';
import {
  answeredSince,
  type Comparison,
  compareDetails,
  compareListed,
  knownByNow,
} from '../../ledger/lists/verify-store.ts';
import type { RowDifference } from '../../ledger/row-difference.ts';
import type { WithObservation } from '../streams/stream.ts';
import type { SyncContext } from '../sync-context.ts';
import { fetchDetails } from './compare-tampered.ts';

/** Upper bound of the differing rows that are compared once more; further ones are reported at once. */
export const confirmedMax = 200;
/** Pauses (ms) in which another process may store what it has read. */
const pausesMs = [500, 1_500];

/** Differing rows as the list showed them. */
export type Suspects = Map<string, WithObservation<TransactionRecord>>;

/**
 * Compares missing and differing rows once more, because another process may have stored them during the comparison.
 * Returns those that are still missing, or still differ.
 */
export async function confirmDrift(
  context: SyncContext,
  db: LedgerDb,
  { found, suspects, signal }: { found: Comparison; suspects: Suspects; signal: AbortSignal },
): Promise<Comparison> {
  let left = found;
  for (const pauseMs of pausesMs) {
    if (left.missing.length + left.different.length === 0) return left;
    await abortableSleep(pauseMs, signal);
    const known = await knownByNow(db, left.missing);
    left = {
      missing: left.missing.filter((orderNo) => !known.has(orderNo)),
      different: await stillDifferent(context, db, left.different, { suspects, signal }),
    };
  }
  return left;
}

async function stillDifferent(
  context: SyncContext,
  db: LedgerDb,
  different: RowDifference[],
  { suspects, signal }: { suspects: Suspects; signal: AbortSignal },
): Promise<RowDifference[]> {
  const rows = different.flatMap(({ orderNo }) => suspects.get(orderNo) ?? []);
  if (rows.length === 0) return different;
  const now = await compareListed(db, rows);
  const byList = new Map(now.different.map((row) => [row.orderNo, row]));
  const altered = new Set(now.altered);
  const later = await answeredSince(db, rows);
  const isByDetail = ({ orderNo, fields }: RowDifference) =>
    later.has(orderNo) && !fields.some(isOfListAlone);
  const asked = now.different.filter(isByDetail).map(({ orderNo }) => orderNo);
  const { rows: details } = await fetchDetails(context, asked, signal);
  const answered = new Set(details.map(({ orderNo }) => orderNo));
  const byDetail = new Map(
    (await compareDetails(db, details)).map((difference) => [difference.orderNo, difference]),
  );
  return different.flatMap((row) => {
    const { orderNo } = row;
    if (!suspects.has(orderNo) || altered.has(orderNo)) return [row];
    // The ledger's row is newer than the page: only a new answer shows whether it differs.
    return (answered.has(orderNo) ? byDetail.get(orderNo) : byList.get(orderNo)) ?? [];
  });
}

/** Returns true for a field that details do not have. */
function isOfListAlone(field: string): boolean {
  return field === 'type' || field === 'isListed';
}
