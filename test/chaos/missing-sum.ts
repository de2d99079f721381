import type pg from 'pg';
import type { SeededRandom } from '../support/seeded-random.ts';
import type { Oracle } from './oracle/oracle-types.ts';
import { plainSymbol } from './oracle/plain-coin.ts';

export type MissingSumTools = {
  oracle: Pick<Oracle, 'arrive'>;
  database: pg.Pool | pg.Client;
  /** Runs `wallet-ledger` with these arguments to its end. No other process reads meanwhile. */
  run(args: string[]): Promise<unknown>;
  random: SeededRandom;
  /** WALLET_PAGE_SIZE of those runs. */
  pageSize: number;
};

/** Reconciliation of the plain coin, as the ledger reports it. */
type Judgement = {
  difference: string;
  explanation: string | null;
  alarms: number;
  problems: number;
  /** Transactions that are not final yet, and their sum. */
  open: number;
  openAmount: number;
};

type Row = { order_no: string; amount: string };

const arrivals = 40;
const arrivalsMax = 1_000;
const openMin = 3;
const readingsMax = 2;
/**
 * A late row far from the end of its list needs a second pass; rows read at the end of a fault may need another one.
 */
const catchUpReadingsMax = 5;
/** Each pass reads the newest pages of a list again, which corrects their rows. */
const pagesLeftAlone = 2;

/**
 * Changes the amount of a random settled row by hand while others are open, and restores it. Returns a line if two
 * readings of lists and balances raise no alarm, and one if two more do not end it. No audit or verification may run
 * meanwhile, because it would repair the row first.
 */
export async function findMissingSum(tools: MissingSumTools): Promise<string[]> {
  const { database, random, run } = tools;
  const before = await openRows(tools);
  if (typeof before === 'string') return [before];
  const rows = await settledRows(tools);
  const row = rows[random.below(rows.length)];
  if (!row) return [`no settled row of ${plainSymbol} to take a sum from`];
  const sum = drawSum(random, Math.min(Number(row.amount), before.openAmount));
  const read = () => run(['sync', 'transactions', 'balances']);

  await setAmount(database, row.order_no, `amount - ${sum}`);
  const missed = await readUntil(read, database, (now) => now.alarms > 0 && now.problems > 0);
  await setAmount(database, row.order_no, row.amount);
  const kept = await readUntil(read, database, isQuiet);
  const what = `${sum} taken from ${row.amount} of ${row.order_no}`;
  return [
    ...(missed ? [`${what}: no alarm after ${readingsMax} readings: ${missed}`] : []),
    ...(kept
      ? [`${what}: not explained ${readingsMax} readings after it was put back: ${kept}`]
      : []),
  ];
}

/**
 * Adds transactions until some of the coin are open and explained in the ledger, and others are so old that no pass
 * reads them again.
 */
async function openRows(tools: MissingSumTools): Promise<Judgement | string> {
  const { oracle, database, run } = tools;
  // A pass pauses the search for a late row after a vain search; a backfill always searches.
  const read = () => run(['backfill']);
  for (let count = 0; count < arrivalsMax; count += arrivals) {
    oracle.arrive(arrivals);
    const unexplained = await readUntil(read, database, isQuiet, catchUpReadingsMax);
    if (unexplained) return `not explained to begin with: ${unexplained}`;
    const now = await judgement(database);
    if (now.open >= openMin && (await settledRows(tools)).length > 0) return now;
  }
  return `fewer than ${openMin} open rows of ${plainSymbol}, or no old one, in ${arrivalsMax}`;
}

/** Null: it became true within the allowed readings; otherwise the last state of the ledger. */
async function readUntil(
  read: () => Promise<unknown>,
  database: MissingSumTools['database'],
  isTrue: (now: Judgement) => boolean,
  readingsLimit = readingsMax,
): Promise<string | null> {
  for (let reading = 1; ; reading += 1) {
    await read();
    const now = await judgement(database);
    if (isTrue(now)) return null;
    if (reading === readingsLimit) return JSON.stringify(now);
  }
}

function isQuiet({ difference, alarms, problems }: Judgement): boolean {
  return Number(difference) === 0 && alarms === 0 && problems === 0;
}

async function judgement(database: MissingSumTools['database']): Promise<Judgement> {
  const { rows } = await database.query<Judgement>(
    `select coalesce(r.difference::text, 'none') as difference, r.explanation,
            (select count(*)::int from ledger.unexplained_differences u where u.symbol = v.symbol) as alarms,
            (select count(*)::int from ledger.problems p
              where p.name = 'unexplained_difference' and starts_with(p.what, v.symbol || ': ')) as problems,
            o.open, o.amount as "openAmount"
       from (values ($1)) as v (symbol)
       left join ledger.reconciliation r using (symbol)
      cross join lateral (
        select count(*)::int as open, coalesce(sum(t.amount), 0)::float8 as amount
          from ledger.transactions t where t.symbol = v.symbol and not t.is_final) as o`,
    [plainSymbol],
  );
  const [row] = rows;
  if (!row) throw new Error('the ledger says nothing');
  return row;
}

/** Returns the rows of the coin that are final and that no pass reads again. */
async function settledRows({ database, pageSize }: MissingSumTools): Promise<Row[]> {
  const { rows } = await database.query<Row>(
    `select order_no, amount::text
       from (select t.*, row_number() over (partition by stream order by occurred_at desc) as place
               from ledger.transactions t where is_listed) as t
      where symbol = $1 and is_final and place > $2
        and lower(btrim(state)) in (select f.state from ledger.final_states f where f.is_success)
      order by order_no`,
    [plainSymbol, pagesLeftAlone * pageSize],
  );
  return rows;
}

/** Between a fifth and four fifths, with digits that no sum of other amounts has. */
function drawSum(random: SeededRandom, limit: number): string {
  const whole = Math.floor(limit * (0.2 + 0.6 * random.next()));
  return `${whole}.${random.text('123456789', 8)}`;
}

/** Like a manual statement of an operator or an intruder; `to` is an SQL expression. */
async function setAmount(
  database: MissingSumTools['database'],
  orderNo: string,
  to: string,
): Promise<void> {
  await database.query(`update ledger.transactions set amount = ${to} where order_no = $1`, [
    orderNo,
  ]);
}
