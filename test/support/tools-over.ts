import { systemClock } from '../../src/kernel/clock.ts';
import { silentLog } from '../../src/kernel/log.ts';
import type { SyncContext, SyncSettings } from '../../src/sync/sync-context.ts';

/** Returns the context of a pass, with a ledger and a client of the test. */
export function toolsOver(
  { ledger, client }: Pick<SyncContext, 'ledger' | 'client'>,
  settings: Partial<SyncSettings> = {},
): SyncContext {
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
      scanSliceMs: 20_000,
      auditCycleMs: 7 * 86_400_000,
      retention: { runsMs: null, resolvedMs: null },
      looksMs: [0],
      chains: [],
      pools: { settleMs: 0, maxPerDay: 10_000 },
      chainParam: 'slip44',
      ...settings,
    },
  };
}
