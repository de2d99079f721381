import { syncTransactions } from '../../../src/sync/streams/sync-transactions.ts';
import type { Bench, BenchPart } from '../bench.ts';
import type { Figure } from '../figures.ts';
import { pageSize } from '../fill-history.ts';
import { daemonPass, openVirtualWallet, type VirtualWallet } from '../open-virtual-wallet.ts';
import { virtualHistory } from '../virtual-history.ts';

/** Cost until the ledger and its proof were correct again. */
type Repair = { requests: number; ms: number; passes: number; isRepaired: boolean };

/** A row that is not found by then needs a full scan: the target is missed. */
const passesMax = 8;
const requestsMax = 1_000;

/** (k) A row that appears or vanishes deep in an ordered history costs a search, not a full scan. */
export const lateRow: BenchPart = {
  letters: 'k',
  title: 'one late row, and one vanished row, at any depth of a long history',
  async run(bench) {
    const rows = bench.isQuick ? 100_000 : 1_000_000;
    const wallet = await openVirtualWallet(bench, virtualHistory({ deposit: rows, withdraw: 0 }));
    const late = await repairAtDepths(bench, wallet, (n) => {
      const orderNo = wallet.service.insertLate('deposit', n);
      return `exists (select from ledger.transactions where order_no = '${orderNo}')`;
    });
    const vanished = await repairAtDepths(bench, wallet, (n) => {
      const orderNo = wallet.service.remove('deposit', n);
      return `exists (select from ledger.transactions where order_no = '${orderNo}' and not is_listed)`;
    });
    await wallet.close();
    const where = `of ${rows.toLocaleString('en')} rows`;
    return [
      ...figuresOf(`a late row in the middle ${where}`, rows, late),
      ...figuresOf(`a vanished row in the middle ${where}`, rows, vanished),
    ];
  },
};

function figuresOf(what: string, rows: number, repairs: Repair[]): Figure[] {
  const requests = repairs.map((repair) => repair.requests);
  const atMost = Math.floor(3 * Math.log2(rows / pageSize));
  const target = { of: 'value' as const, atMost };
  const missed = repairs.filter((repair) => !repair.isRepaired).length;
  const note =
    missed > 0
      ? { note: `${what}: given up after ${passesMax} passes or ${requestsMax} requests` }
      : {};
  return [
    {
      part: 'k',
      what: `${what}: list requests`,
      unit: 'requests',
      samples: requests,
      target,
      ...note,
    },
    {
      part: 'k',
      what: `${what}: list requests, worst`,
      unit: 'requests',
      samples: [Math.max(...requests)],
      target,
    },
    {
      part: 'k',
      what: `${what}: time of ${repairs[0]?.passes} passes`,
      unit: 'ms',
      samples: repairs.map((repair) => repair.ms),
    },
  ];
}

/** `harm` changes the service at row n and returns the SQL condition that holds once the ledger has followed. */
async function repairAtDepths(
  bench: Bench,
  wallet: VirtualWallet,
  harm: (n: number) => string,
): Promise<Repair[]> {
  const repairs: Repair[] = [];
  const places = drawPlaces(wallet.history.counts.deposit, bench.isQuick ? 3 : 9);
  for (const place of places) {
    const repair = await repairOf(wallet, harm(place));
    repairs.push(repair);
    // A ledger that is still inconsistent allows no statement about the next row.
    if (!repair.isRepaired) break;
  }
  return repairs;
}

async function repairOf(wallet: VirtualWallet, condition: string): Promise<Repair> {
  const { service, context, ledger } = wallet;
  const requestsBefore = service.requests();
  const startedAt = performance.now();
  const stop = new AbortController();
  const watch = setInterval(() => {
    if (service.requests() - requestsBefore > requestsMax) stop.abort();
  }, 5);
  let isRepaired = false;
  let passes = 0;
  while (!isRepaired && passes < passesMax && !stop.signal.aborted) {
    passes += 1;
    const report = await syncTransactions(context, daemonPass(stop.signal), ['deposit']).catch(
      (error: unknown) => {
        if (!stop.signal.aborted) throw error;
      },
    );
    const found = await ledger.pool.query<{ has: boolean }>(`select ${condition} as has`);
    isRepaired = Boolean(report?.isComplete && found.rows[0]?.has);
  }
  clearInterval(watch);
  return {
    requests: service.requests() - requestsBefore,
    ms: performance.now() - startedAt,
    passes,
    isRepaired,
  };
}

/** Row numbers across the whole history, the same in every run. */
function drawPlaces(rows: number, count: number): number[] {
  const goldenShare = 0.618_033_988_749_895;
  return Array.from({ length: count }, (_, draw) =>
    Math.floor((((draw + 1) * goldenShare) % 1) * rows),
  );
}
