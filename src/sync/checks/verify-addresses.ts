import { storeListedAddresses } from '../../ledger/addresses/address-store.ts';
import {
  beginSightings,
  compareAddresses,
  startOfVerification,
  unmetAddresses,
} from '../../ledger/lists/verify-store.ts';
import { addressStream } from '../pools/sync-addresses.ts';
import type { SyncContext } from '../sync-context.ts';
import { scanPages } from './scan-pages.ts';
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
    arrivals: 0,
  };
  const { db, release } = await context.ledger.session();
  try {
    await beginSightings(db);
    const { startedAt } = await startOfVerification(db, stream.name);
    await scanPages(context, stream, verification, async (rows) => {
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
  } finally {
    release();
  }
  return drift;
}
