import { Client } from 'pg';
import { silentLog } from '../../../src/kernel/log.ts';
import { connectLedger } from '../../../src/ledger/connection/connect-ledger.ts';
import { migrateLedger } from '../../../src/ledger/connection/migrate-ledger.ts';
import { migrateBefore } from '../../support/migrate-before.ts';
import type { Bench, BenchPart } from '../bench.ts';
import { median, percentile } from '../figures.ts';

const slip44 = 60;
const calls = 4_000;
const warmUp = 400;
/** Calls before the other one's turn: alternating every call would evict each other from the CPU caches. */
const callsPerTurn = 200;
const dearerUsMax = 25;

/** (m) Additional cost of a call, compared with the schema before the ledger had a home. */
export const takeAddressPart: BenchPart = {
  letters: 'm',
  title: 'take_address beside that of the schema before homes',
  async run(bench) {
    const [before, now] = [await openFilled(bench, 'home'), await openFilled(bench, null)];
    const earlier: number[] = [];
    const later: number[] = [];
    for (let run = 0; run < bench.runs; run += 1) {
      const [usBefore, usNow] = await timeBoth(before, now, run);
      earlier.push(percentile(usBefore, 0.5));
      later.push(percentile(usNow, 0.5));
    }
    const what = `take_address, ${callsPerTurn} calls with and without a home in turn`;
    return [
      {
        part: 'm',
        what: `${what}: p50`,
        unit: 'µs',
        samples: later,
        floor: { what: 'before migration 0016', samples: earlier },
      },
      {
        part: 'm',
        what: `${what}: dearer by`,
        unit: 'µs',
        samples: [median(later.map((us, run) => us - (earlier[run] ?? Number.NaN)))],
        target: { of: 'value', atMost: dearerUsMax },
      },
    ];
  },
};

/** A ledger with a full pool; `before`: with the schema before the migration of that name. */
async function openFilled(bench: Bench, before: string | null): Promise<Client> {
  const connectionString = await bench.database();
  const ledger = connectLedger({ connectionString, poolSize: 2, log: silentLog });
  await (before === null ? migrateLedger(ledger) : migrateBefore(ledger, before));
  await ledger.close();
  const client = new Client({ connectionString });
  await client.connect();
  bench.onEnd(() => client.end().catch(() => undefined));
  await client.query(
    `insert into ledger.pools (slip44, threshold, target) values (${slip44}, 10, 20)`,
  );
  await client.query(`
    insert into ledger.addresses (slip44, address, status, generated_by, first_seen_at)
    select ${slip44}, '0x' || md5(n::text), 'available', 1, now()
      from generate_series(1, ${(calls + warmUp) * bench.runs}) n`);
  // Rows as the daemon leaves them: classified, and checked for earlier deposits.
  if (before === null)
    await client.query(`update ledger.addresses set form = 'proven', unchecked_until = null`);
  await client.query('vacuum full analyze ledger.addresses');
  // The setting of take_address, so that both wait for the log.
  await client.query('set synchronous_commit = on');
  // The setting of `migrate --issuer` for the role.
  await client.query(`set idle_in_transaction_session_timeout = '1min'`);
  return client;
}

/** In the order before, now, now, before, so that other load on the machine affects both. */
async function timeBoth(before: Client, now: Client, run: number): Promise<[number[], number[]]> {
  const us: [number[], number[]] = [[], []];
  let isNowFirst = false;
  for (let from = -warmUp; from < calls; from += callsPerTurn) {
    for (const isNow of [isNowFirst, !isNowFirst]) {
      const turn = await timeTurn(isNow ? now : before, `${run}-${from}`);
      if (from >= 0) us[isNow ? 1 : 0].push(...turn);
    }
    isNowFirst = !isNowFirst;
  }
  return us;
}

async function timeTurn(client: Client, name: string): Promise<number[]> {
  const us: number[] = [];
  for (let call = 0; call < callsPerTurn; call += 1) {
    const from = performance.now();
    await client.query({
      name: 'take',
      text: 'select ledger.take_address($1, $2)',
      values: [slip44, `customer-${name}-${call}`],
    });
    us.push((performance.now() - from) * 1_000);
  }
  return us;
}
