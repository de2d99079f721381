import { storeListedAddresses } from '../../ledger/addresses/address-store.ts';
import {
  beginSightings,
  compareAddresses,
  countSightings,
  startOfVerification,
  unmetAddresses,
} from '../../ledger/lists/verify-store.ts';
import { addressStream } from '../pools/sync-addresses.ts';
import type { SyncContext } from '../sync-context.ts';
import { scanPages } from './scan-pages.ts';
import { settleProof } from './settle-proof.ts';
import type { Drift, Verification } from './verify-transactions.ts';

/**
 * Compares a chain's address list with the ledger. A repair stores missing addresses. An address that the service does
 * not list is reported every time: the repair cannot remove it.
 */
export async function verifyAddresses(
  context: SyncContext,
  slip44: number,
  verification: Verification,
): Promise<Drift> {
  const stream = addressStream(context, slip44);
  const drift: Drift = {
    name: stream.name,
    compared: 0,
    missing: [],
    different: [],
    extra: [],
    repaired: 0,
    unstorable: 0,
    arrivals: 0,
  };
  const { db, release } = await context.ledger.session();
  try {
    await beginSightings(db);
    const { startedAt, passes } = await startOfVerification(db, stream.name);
    const scan = await scanPages(context, stream, verification, async (rows) => {
      const addresses = rows.map((row) => row.address);
      const missing = await compareAddresses(db, slip44, addresses);
      drift.compared += addresses.length;
      drift.missing.push(...missing);
      if (!verification.isRepair || missing.length === 0) return;
      const { inserted } = await context.ledger.transaction((tx) =>
        storeListedAddresses(tx, slip44, missing),
      );
      drift.repaired += inserted;
    });
    drift.extra = await unmetAddresses(db, slip44, startedAt);
    const isHeld = drift.extra.length === 0 && drift.missing.length === drift.repaired;
    const isWhole = scan.walk.isClean && scan.walk.unstorable === 0;
    const isCounted = scan.state.serviceTotal === (await countSightings(db));
    await settleProof(context, stream, {
      ...{ scan: isHeld && isWhole && isCounted ? scan : null, signal: verification.signal },
      ...{ passesBefore: passes, mayRead: verification.isRepair },
    });
  } finally {
    release();
  }
  return drift;
}
