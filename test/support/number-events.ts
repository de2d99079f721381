import { setTimeout as delay } from 'node:timers/promises';
import type { LedgerDb } from '../../src/ledger/connection/connect-ledger.ts';
import { sequenceEvents } from '../../src/ledger/feed/event-store.ts';

/** Numbers all committed events; waits for transactions of other tests on the same server. */
export async function numberEvents(db: LedgerDb): Promise<void> {
  for (;;) {
    const { isWaiting, isMore } = await sequenceEvents(db);
    if (!isWaiting && !isMore) return;
    await delay(10);
  }
}
