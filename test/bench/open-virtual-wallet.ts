import { systemClock } from '../../src/kernel/clock.ts';
import { silentLog } from '../../src/kernel/log.ts';
import { connectLedger, type Ledger } from '../../src/ledger/connection/connect-ledger.ts';
import { migrateLedger } from '../../src/ledger/connection/migrate-ledger.ts';
import { createTicketSource } from '../../src/ledger/ticket-source.ts';
import { reclassifyByStates } from '../../src/ledger/transactions/final-states.ts';
import { createSigner } from '../../src/service/signing/create-signer.ts';
import { createWalletClient } from '../../src/service/wallet-client.ts';
import type { SyncOptions } from '../../src/sync/streams/sync-stream.ts';
import type { SyncContext } from '../../src/sync/sync-context.ts';
import type { Bench } from './bench.ts';
import { fillHistory, pageSize } from './fill-history.ts';
import type { VirtualHistory } from './virtual-history.ts';
import { startVirtualService, type VirtualService } from './virtual-service.ts';

/** A ledger that holds a virtual history, the service that it was read from, and the program's parts between them. */
export type VirtualWallet = {
  history: VirtualHistory;
  service: VirtualService;
  ledger: Ledger;
  context: SyncContext;
  connectionString: string;
  /** Messages with SQL that the ledger's connections have sent, BEGIN and COMMIT included. */
  queries(): number;
  /** Ends all of it and drops the database. */
  close(): Promise<void>;
};

export async function openVirtualWallet(
  bench: Bench,
  history: VirtualHistory,
): Promise<VirtualWallet> {
  const connectionString = await bench.database();
  const ledger = connectLedger({ connectionString, poolSize: 6, log: silentLog });
  let queries = 0;
  ledger.pool.on('connect', (client) => {
    const query = client.query.bind(client) as (...given: unknown[]) => unknown;
    const counted = (...given: unknown[]) => {
      queries += 1;
      return query(...given);
    };
    client.query = counted as typeof client.query;
  });
  await migrateLedger(ledger);
  await reclassifyByStates(ledger, {
    final: new Set(['success', 'failed']),
    success: new Set(['success']),
  });
  const startedAt = performance.now();
  await fillHistory(ledger, history);
  const rows = history.counts.deposit + history.counts.withdraw;
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
  bench.say(`  ${rows.toLocaleString('en')} rows filled in ${seconds} s`);
  const service = await startVirtualService(history);
  let isOpen = true;
  const close = async () => {
    if (!isOpen) return;
    isOpen = false;
    await service.close();
    await ledger.close();
    await bench.dropDatabase(connectionString);
  };
  bench.onEnd(close);
  const context = await createTools(ledger, service);
  return { history, service, ledger, context, connectionString, queries: () => queries, close };
}

async function createTools(ledger: Ledger, service: VirtualService): Promise<SyncContext> {
  const concurrency = 8;
  const client = createWalletClient({
    baseUrl: service.baseUrl,
    signer: await createSigner({ signer: 'params-hmac', apiKey: 'bench', apiSecret: 'bench' }),
    tickets: createTicketSource(ledger, { maxRps: null, nonceUnit: 'ms' }),
    paramNames: { page: 'pageNo', size: 'pageSize', chain: 'slip44', type: 'type' },
    concurrency,
    timeoutMs: 30_000,
    log: silentLog,
    clock: systemClock,
    random: Math.random,
  });
  const settings = {
    pageSize,
    listOrder: null,
    concurrency,
    auditCycleMs: 7 * 86_400_000,
    retention: { runsMs: null, resolvedMs: null },
    auditShare: 0.25,
    scanSliceMs: 20_000,
    chains: [],
    chainParam: 'slip44',
    pools: { settleMs: 0, maxPerDay: 0 },
  };
  return { ledger, client, log: silentLog, clock: systemClock, settings };
}

/** A pass with the settings of the daemon. */
export function daemonPass(signal = new AbortController().signal): SyncOptions {
  return { signal, ifLeased: 'briefly', sliceMs: 20_000, effort: 'daemon' };
}
