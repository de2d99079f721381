import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { silentLog } from '../../../src/kernel/log.ts';
import { storeGenerated } from '../../../src/ledger/addresses/address-answer-store.ts';
import { connectLedger, type Ledger } from '../../../src/ledger/connection/connect-ledger.ts';
import { migrateLedger } from '../../../src/ledger/connection/migrate-ledger.ts';
import type { Bench, BenchPart } from '../bench.ts';
import type { Figure } from '../figures.ts';

const slip44 = 60;
const popular = 150;
const added = 200;
const atMostMs = 50;
const lockWaitMaxMs = 50;
const beside = ['nothing', 'vacuum ledger.transactions', 'analyze ledger.transactions'] as const;

/** (n) Cost of two hundred new addresses on a ledger with a long history of deposits to few addresses. */
export const newAddressesPart: BenchPart = {
  letters: 'n',
  title: `${added} new addresses beside a long history of deposits`,
  async run(bench) {
    const deposits = bench.isQuick ? 100_000 : 1_000_000;
    const connectionString = await bench.database();
    const ledger = connectLedger({ connectionString, poolSize: 4, log: silentLog });
    bench.onEnd(() => ledger.close());
    await migrateLedger(ledger);
    await ledger.pool.query('create extension pg_stat_statements');
    await fillDeposits(ledger, deposits);
    const figures: Figure[] = [];
    for (const hasStatistics of [true, false]) {
      for (const maintenance of beside) {
        figures.push(
          ...(await measure(bench, ledger, connectionString, {
            hasStatistics,
            maintenance,
            deposits,
          })),
        );
      }
    }
    return figures;
  },
};

async function fillDeposits({ pool }: Ledger, deposits: number): Promise<void> {
  await pool.query(`
    insert into ledger.final_states values ('success', true) on conflict do nothing;
    insert into ledger.pools (slip44, threshold, target) values (${slip44}, 100, 200);
    alter table ledger.transactions set (autovacuum_enabled = off);
    insert into ledger.transactions (order_no, stream, type, state, to_address, occurred_at, is_final, observation)
    select 'order-' || n, 'deposit', 'deposit', 'success', '0xaaaa' || n % ${popular},
           timestamptz '2025-01-01' + n * interval '1 second', true, n from generate_series(1, ${deposits}) n`);
}

type Case = { hasStatistics: boolean; maintenance: (typeof beside)[number]; deposits: number };

async function measure(
  bench: Bench,
  ledger: Ledger,
  connectionString: string,
  { hasStatistics, maintenance, deposits }: Case,
): Promise<Figure[]> {
  const took: number[] = [];
  const stalls: number[] = [];
  for (let run = 0; run < bench.runs; run += 1) {
    await setStatistics(ledger, hasStatistics);
    const others = await startOthers(connectionString, maintenance);
    // The maintenance has started.
    await delay(200);
    took.push(await storeAddresses(ledger, `${hasStatistics}-${maintenance[0]}-${run}`));
    stalls.push(await others.end());
  }
  const how = `${hasStatistics ? 'with' : 'without'} statistics, beside ${maintenance}, at ${deposits.toLocaleString('en')} deposits`;
  const target = { of: 'value', atMost: atMostMs } as const;
  return [
    { part: 'n', what: `${added} new addresses ${how}`, unit: 'ms', samples: took, target },
    { part: 'n', what: 'the slowest deposit meanwhile', unit: 'ms', samples: stalls },
  ];
}

async function setStatistics({ pool }: Ledger, hasStatistics: boolean): Promise<void> {
  const all = ['ledger.transactions', 'ledger.addresses'];
  for (const table of all) {
    await pool.query(
      hasStatistics
        ? `analyze ${table}`
        : `delete from pg_statistic where starelid = '${table}'::regclass`,
    );
  }
}

/** Returns the time (ms) that the server needs for the transaction that stores an answer. */
async function storeAddresses(ledger: Ledger, name: string): Promise<number> {
  const { rows } = await ledger.pool.query<{ id: string }>(
    `insert into ledger.address_requests (slip44, num, state, requested_at)
     values ($1, $2, 'sent', now()) returning id`,
    [slip44, added],
  );
  const id = Number(rows[0]?.id);
  const addresses = Array.from({ length: added }, (_, nth) => `0xBBBB-${name}-${nth}`);
  const before = await readServerMs(ledger);
  const joined = await ledger.transaction((db) => storeGenerated(db, id, addresses));
  if (joined !== added) throw new Error(`${joined} of ${added} addresses joined the pool`);
  return (await readServerMs(ledger)) - before;
}

async function readServerMs({ pool }: Ledger): Promise<number> {
  const { rows } = await pool.query<{ ms: number }>(`
    select coalesce(sum(total_exec_time + total_plan_time), 0) as ms from pg_stat_statements
     where query ~ 'address_requests|ledger[.]pools|recount_use' and query !~ 'insert into ledger.address_requests'
       and toplevel and dbid = (select oid from pg_database where datname = current_database())`);
  return rows[0]?.ms ?? Number.NaN;
}

/** Deposits arrive one after another during repeated maintenance. `end` returns the slowest deposit. */
async function startOthers(connectionString: string, maintenance: Case['maintenance']) {
  const state = { isOver: false, slowestMs: 0 };
  const [writer, cleaner] = [new Client({ connectionString }), new Client({ connectionString })];
  await Promise.all([writer.connect(), cleaner.connect()]);
  // A deposit that waits longer for a lock fails, and the part with it.
  await writer.query(`set lock_timeout = '${lockWaitMaxMs}ms'`);
  const write = async () => {
    for (let nth = 0; !state.isOver; nth += 1) {
      const from = performance.now();
      await writer.query(
        `insert into ledger.transactions (order_no, stream, type, state, to_address, occurred_at, observation)
         values (gen_random_uuid()::text, 'deposit', 'deposit', 'success', '0xaaaa' || ${nth % popular}, now(), 1)`,
      );
      state.slowestMs = Math.max(state.slowestMs, performance.now() - from);
      await delay(2);
    }
  };
  const clean = async () => {
    while (!state.isOver && maintenance !== 'nothing') await cleaner.query(maintenance);
  };
  const working = Promise.all([write(), clean()]);
  return {
    async end(): Promise<number> {
      state.isOver = true;
      await working;
      await Promise.all([writer.end(), cleaner.end()]);
      return state.slowestMs;
    },
  };
}
