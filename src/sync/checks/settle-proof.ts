import { clearDays } from '../../ledger/lists/coverage-store.ts';
import { endRepair } from '../../ledger/lists/verify-store.ts';
import { afterWholeScan } from '../list/conclude-scan.ts';
import { efforts } from '../list/doubt.ts';
import type { ListedPage } from '../list/list-pages.ts';
import { createListSession } from '../list/list-session.ts';
import { isProven, withCheckpoint, withDifferingDays } from '../list/list-state.ts';
import { readList } from '../list/read-list.ts';
import { withLease } from '../streams/lease-list.ts';
import type { Stream } from '../streams/stream.ts';
import { openStreamPort, stateOf } from '../streams/stream-port.ts';
import type { SyncContext } from '../sync-context.ts';
import type { PagesScan } from './scan-pages.ts';

/**
 * Result of a verification. `scan`: the scan that met exactly the rows that the ledger now lists; null if there is
 * none. `passesBefore`: number of passes over the list before the verification began. `mayRead`: an ordinary pass may
 * follow, which reads and stores rows that have arrived since.
 */
type Verified = {
  scan: PagesScan | null;
  passesBefore: number;
  mayRead: boolean;
  signal: AbortSignal;
};

/**
 * Lets the scan of a verification back the list's counts, under the list's lease, as any other clean scan does. If
 * another pass has read the list meanwhile, that pass's findings are kept, and the list's own passes resolve them.
 */
export async function settleProof<T>(
  context: SyncContext,
  stream: Stream<T>,
  { scan, passesBefore, mayRead, signal }: Verified,
): Promise<void> {
  if (scan === null && !mayRead) return;
  await withLease(
    context,
    stream.name,
    { ifLeased: mayRead ? 'wait' : 'briefly', signal },
    async ({ owner, row }) => {
      const state = stateOf(row, context);
      const isAlone = row.passes === passesBefore + 1 && state.guests === 0;
      const isKnownAlready = isProven(state) && state.serviceTotal === scan?.state.serviceTotal;
      if (isKnownAlready) return;
      const opened = openStreamPort<T>(
        context,
        stream,
        { signal, sliceMs: null },
        { state, owner, row },
      );
      try {
        const session = createListSession<ListedPage<T>>(opened.port, state);
        if (scan !== null && isAlone) {
          const scannedAt = opened.port.now();
          session.apply(withCheckpoint(afterWholeScan(state, scan), { scannedAt }));
          await session.store([]);
        }
        if (mayRead) {
          await readList(opened.port, session.state, effort(context));
          // A pass that finds nothing new stores no state.
          await endRepair(context.ledger.db, stream.name);
        }
      } finally {
        opened.close();
      }
    },
  );
}

/** Days (since 1970) whose rows differ; `isUndated`: so do rows without a time. */
export type Places = { days: number[]; isUndated: boolean };

/**
 * Removes the proof of a list of which a verification found rows that only the service or only the ledger has, and the
 * mark of their days. The list's own passes read them again.
 */
export async function noteDrift<T>(
  context: SyncContext,
  stream: Stream<T>,
  { days, isUndated }: Places,
  signal: AbortSignal,
): Promise<void> {
  if (days.length === 0 && !isUndated) return;
  await clearDays(context.ledger.db, stream.name, days);
  await withLease(context, stream.name, { ifLeased: 'briefly', signal }, async ({ owner, row }) => {
    const state = stateOf(row, context);
    if (!state.isBacked) return;
    const pass = { signal, sliceMs: null };
    const opened = openStreamPort<T>(context, stream, pass, { state, owner, row });
    try {
      const session = createListSession<ListedPage<T>>(opened.port, state);
      const isScanUnclean = isUndated || state.checkpoint.isScanUnclean;
      session.apply(withCheckpoint(withDifferingDays(state, days), { isScanUnclean }));
      await session.store([]);
    } finally {
      opened.close();
    }
  });
}

/** Returns the effort of a pass that leaves a doubt to the list's own passes. */
function effort({ settings }: SyncContext) {
  const { looksMs, ...rest } = efforts.daemon;
  return { ...rest, looksMs: settings.looksMs ?? looksMs, patienceMs: settings.auditCycleMs };
}
