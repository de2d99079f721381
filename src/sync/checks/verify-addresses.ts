import type { AddressRecord } from '../../kernel/wallet-records.ts';
import { observationsOf, storeListedAddresses } from '../../ledger/addresses/address-store.ts';
import { recountAddresses } from '../../ledger/lists/recount-list.ts';
import {
  compareAddresses,
  doubtWhileRepaired,
  endRepair,
  startOfVerification,
  unmetAddresses,
} from '../../ledger/lists/verify-store.ts';
import { addressStream, addressStreamName } from '../pools/sync-addresses.ts';
import type { WithObservation } from '../streams/stream.ts';
import type { SyncContext } from '../sync-context.ts';
import { type Drift, emptyDrift } from './drift.ts';
import { explainUnshown } from './explain-unshown.ts';
import { repeatScans } from './repeat-scans.ts';
import { type PagesScan, scanPages } from './scan-pages.ts';
import { settleProof } from './settle-proof.ts';
import type { Verification } from './verify-transactions.ts';

/**
 * Compares a chain's address list with the ledger. A repair stores missing addresses. An address counts as extra if two
 * readings have not met it; it is reported every time, because a repair cannot remove it.
 */
export async function verifyAddresses(
  context: SyncContext,
  slip44: number,
  verification: Verification,
): Promise<Drift> {
  const stream = addressStream(context, slip44);
  const drift = emptyDrift(stream.name);
  const named = new Set<string>();
  const { db, release } = await context.ledger.session();
  try {
    const { startedAt, passes } = await startOfVerification(db, stream.name);
    const compare = async (rows: WithObservation<AddressRecord>[]) => {
      const addresses = rows.map((row) => row.address);
      const missing = await compareAddresses(db, slip44, addresses);
      for (const address of missing) named.add(address);
      if (!verification.isRepair || missing.length === 0) return;
      drift.repaired += await storeMissing(context, slip44, missing, observationsOf(rows));
    };
    const { scan, isRead, ...found } = await repeatScans(db, {
      read: () => scanPages(context, stream, verification, compare),
      unmet: (by) => unmetAddresses(db, slip44, startedAt, by),
      signal: verification.signal,
    });
    const { unstorable } = scan.walk;
    Object.assign(drift, found, { isEndRefused: scan.isEndRefused, unstorable });
    drift.missing = [...named];
    const isRepaired = drift.missing.length === drift.repaired;
    const isHeld = isRead && drift.extra.length === 0 && isRepaired && isWhole(scan);
    if (verification.isRepair) await endRepairOf(context, slip44, isHeld);
    const isCounted = scan.state.serviceTotal === drift.compared;
    await settleProof(context, stream, {
      ...{ scan: isHeld && isCounted ? scan : null, signal: verification.signal },
      ...{ passesBefore: passes, mayRead: verification.isRepair },
    });
    const missingOf = (rows: WithObservation<AddressRecord>[]) =>
      compareAddresses(
        db,
        slip44,
        rows.map((row) => row.address),
      );
    const { signal } = verification;
    Object.assign(drift, await explainUnshown(context, drift, { db, stream, missingOf, signal }));
  } finally {
    release();
  }
  return drift;
}

function isWhole({ walk }: PagesScan): boolean {
  return walk.isClean && walk.unstorable === 0;
}

/** Stores missing addresses. The list has no proof until `endRepairOf`. Returns the number of new rows. */
async function storeMissing(
  { ledger }: SyncContext,
  slip44: number,
  missing: string[],
  observations: ReadonlyMap<string, number>,
): Promise<number> {
  return await ledger.transaction(async (tx) => {
    const { inserted } = await storeListedAddresses(tx, slip44, missing, { observations });
    await doubtWhileRepaired(tx, addressStreamName(slip44));
    return inserted;
  });
}

/** Corrects the list's count. `isHeld`: the ledger now has each address that the service lists. */
async function endRepairOf(
  { ledger }: SyncContext,
  slip44: number,
  isHeld: boolean,
): Promise<void> {
  await ledger.transaction(async (tx) => {
    await recountAddresses(tx, slip44);
    if (isHeld) await endRepair(tx, addressStreamName(slip44));
  });
}
