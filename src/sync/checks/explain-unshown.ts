import { LedgerError } from '../../kernel/errors.ts';
import type { LedgerDb } from '../../ledger/connection/connect-ledger.ts';
import { readAcceptedDifference } from '../../ledger/lists/stream-store.ts';
import { pageFailure } from '../list/divide-page.ts';
import type { Stream, WithObservation } from '../streams/stream.ts';
import type { SyncContext } from '../sync-context.ts';
import type { Drift } from './drift.ts';

/** `missingOf` returns the keys of those rows that the ledger does not list. */
type Asking<T> = {
  db: LedgerDb;
  stream: Stream<T>;
  missingOf: (rows: WithObservation<T>[]) => Promise<string[]>;
  signal: AbortSignal;
};

/**
 * Explains rows that the service counts and no page has shown: passes may have accepted them as a wrong total, and page
 * 0 may show rows that the ledger lacks. Call it after the passes of the verification.
 */
export async function explainUnshown<T>(
  context: SyncContext,
  { unshown }: Pick<Drift, 'unshown'>,
  asking: Asking<T>,
): Promise<Pick<Drift, 'unaccepted' | 'onPageZero'>> {
  if (unshown === 0) return { unaccepted: 0, onPageZero: 0 };
  const accepted = await readAcceptedDifference(asking.db, asking.stream.name);
  const unaccepted = Math.max(0, unshown - accepted);
  return { unaccepted, onPageZero: await countOnPageZero(context, asking) };
}

/**
 * Counts the missing rows that page 0 shows and page 1, read afterwards, does not: they are not rows that have just
 * arrived.
 */
async function countOnPageZero<T>(
  { settings }: SyncContext,
  { stream, missingOf, signal }: Asking<T>,
): Promise<number> {
  const read = async (pageNo: number) =>
    await stream.readPage(pageNo, settings.pageSize, signal, 1).catch(pageFailure);
  const zero = await read(0);
  if (zero instanceof LedgerError || zero.records.length === 0) return 0;
  const { observation } = zero;
  const missing = await missingOf(zero.records.map((record) => ({ ...record, observation })));
  const first = missing.length === 0 ? null : await read(1);
  if (first === null || first instanceof LedgerError) return 0;
  const shown = new Set(first.records.map((record) => stream.keyOf(record)));
  return missing.filter((key) => !shown.has(key)).length;
}
