import { systemClock } from '../../src/kernel/clock.ts';
import { silentLog } from '../../src/kernel/log.ts';
import type { SyncSettings, SyncTools } from '../../src/sync/sync-tools.ts';

/** What passes work with, over a ledger and a client of the test's own. */
export function toolsOver(
  { ledger, client }: Pick<SyncTools, 'ledger' | 'client'>,
  settings: Partial<SyncSettings> = {},
): SyncTools {
  return {
    ledger,
    client,
    log: silentLog,
    clock: systemClock,
    settings: {
      pageSize: 100,
      listOrder: null,
      concurrency: 8,
      auditShare: 0.25,
      auditCycleMs: 7 * 86_400_000,
      looksMs: [0],
      chains: [],
      pools: { settleMs: 0, maxPerDay: 10_000 },
      chainParam: 'slip44',
      ...settings,
    },
  };
}
