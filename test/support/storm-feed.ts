import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';

const writers = 8;
const reconnectPauseMs = 50;
const sequencePauseMs = 5;

export type Storm = {
  connectionString(): string;
  /** Changes of all writers together; rolled back ones do not count. */
  changes: number;
  /** Number of rows that are changed, `o0` and so on. */
  rows: number;
};

/** Changes that the writers know of: those of confirmed commits, and those of commits without an answer. */
export type Written = { kept: number; unknown: number };

/** Fills the rows that a storm changes. */
export function stormRows(rows: number): string {
  return `insert into ledger.transactions (order_no, stream, confirm_num, is_backfilled)
          select 'o' || n, 'deposit', 0, true from generate_series(0, ${rows - 1}) as n`;
}

/**
 * Eight writers change random rows in transactions of one to three changes, one in ten of them rolled back, and three
 * sequencers number the events at short intervals; a lost connection is reopened. Sequencers connect as `sequencer`.
 * Resolves when all changes are made.
 */
export async function stormFeed(storm: Storm): Promise<Written> {
  const over = new AbortController();
  const sequencers = [1, 2, 3].map(() =>
    again(storm, 'sequencer', over.signal, async (client) => {
      while (!over.signal.aborted) {
        await client.query('select engine.sequence_events(1000)');
        await delay(sequencePauseMs);
      }
    }),
  );
  const shares = Array.from({ length: writers }, (_, index) =>
    write(storm, Math.ceil(storm.changes / writers), index),
  );
  const written = await Promise.all(shares).finally(() => over.abort());
  await Promise.all(sequencers);
  return written.reduce((sum, each) => ({
    kept: sum.kept + each.kept,
    unknown: sum.unknown + each.unknown,
  }));
}

async function write(storm: Storm, share: number, index: number): Promise<Written> {
  const written = { kept: 0, unknown: 0 };
  const over = new AbortController();
  await again(storm, 'writer', over.signal, async (client) => {
    while (written.kept < share) {
      const size = Math.min(share - written.kept, 1 + Math.floor(Math.random() * 3));
      const keys = Array.from({ length: size }, () => Math.floor(Math.random() * storm.rows));
      await client.query('begin');
      for (const key of keys.sort((a, b) => a - b))
        await client.query({
          name: 'change',
          text: `update ledger.transactions set confirm_num = confirm_num + 1 where wallet = 'main' and order_no = $1`,
          values: [`o${key}`],
        });
      if (Math.random() < 0.05) await delay(index);
      if (Math.random() < 0.1) {
        await client.query('rollback');
        continue;
      }
      written.unknown += size;
      await client.query('commit');
      written.unknown -= size;
      written.kept += size;
    }
    over.abort();
  });
  return written;
}

/** Runs it on its own connection, and again on another one after each loss. */
async function again(
  storm: Storm,
  name: string,
  signal: AbortSignal,
  work: (client: Client) => Promise<void>,
): Promise<void> {
  while (!signal.aborted) {
    const client = new Client({
      connectionString: storm.connectionString(),
      application_name: name,
    });
    client.on('error', () => undefined);
    try {
      await client.connect();
      await work(client);
    } catch (error) {
      if (!isLost(error)) throw error;
      await delay(reconnectPauseMs);
    } finally {
      await client.end().catch(() => undefined);
    }
  }
}

/** Ended by the server, refused during its start, or cut. */
function isLost(error: unknown): boolean {
  const { code = '', message = '' } = error as { code?: string; message?: string };
  return /^(57P0|08|ECONN|EPIPE)/.test(code) || /Connection terminated|not queryable/.test(message);
}

/**
 * Returns the contradictions to the rule that each change is reported once, and each row's changes in order; empty if
 * there are none.
 */
export async function judgeFeed(
  query: (statement: string) => Promise<Record<string, unknown>[]>,
  { kept, unknown }: Written,
): Promise<string[]> {
  const [totals] = await query(`
    select (select sum(confirm_num)::int from ledger.transactions) as changes, count(*)::int as events,
           coalesce(max(seq), 0)::int as head, coalesce(min(seq), 0)::int as first from ledger.events`);
  const { changes, events, head, first } = totals as Record<string, number>;
  const [counts] = await query(`
    select (select count(*)::int from engine.outbox) as unnumbered,
           (select count(*)::int
              from ledger.transactions t
              left join (select key, count(*) as events from ledger.events group by key) as e on e.key = t.order_no
             where t.confirm_num <> coalesce(e.events, 0)) as miscounted,
           (select count(*)::int from (
              select (data ->> 'confirm_num')::int
                     - lag((data ->> 'confirm_num')::int, 1, 0) over (partition by key order by seq) as step
                from ledger.events) as steps where step <> 1) as misplaced`);
  const found = { changes, events, head, first, ...counts };
  const told = JSON.stringify(found);
  const holds =
    changes !== undefined &&
    changes >= kept &&
    changes <= kept + unknown &&
    events === changes &&
    head === changes &&
    first === 1 &&
    Object.values(counts ?? {}).every((count) => count === 0);
  return holds ? [] : [`${told} where ${kept} changes were kept and ${unknown} perhaps`];
}
