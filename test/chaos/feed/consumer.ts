import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';

const retryPauseMs = 150;
const idlePauseMs = 100;
const eventsMax = 100;

/** Place where the consumer stores the events; an event that arrives twice violates its key. */
const consumerBooks = `
create schema if not exists shop;
create table if not exists shop.told (
  seq bigint primary key, wallet text not null, kind text not null, key text not null, data jsonb
);`;

/** An application that follows the feed in the program's own database, over connections that fail. */
export function startConsumer(pool: pg.Pool): {
  readonly repeated: string[];
  stop(): Promise<void>;
} {
  const state: { isStopped: boolean } = { isStopped: false };
  const repeated: string[] = [];
  const run = async () => {
    let hasBooks = false;
    while (!state.isStopped) {
      try {
        if (!hasBooks) await pool.query(consumerBooks);
        hasBooks = true;
        if ((await takeEvents(pool)) === 0) await delay(idlePauseMs);
      } catch (error) {
        if ((error as { code?: string }).code === '23505') repeated.push(String(error));
        await delay(retryPauseMs);
      }
    }
  };
  const running = run();
  return {
    repeated,
    async stop() {
      state.isStopped = true;
      await running;
    },
  };
}

/** Stores a page of events and acknowledges it, in one transaction. */
async function takeEvents(pool: pg.Pool): Promise<number> {
  const client = await pool.connect();
  // The current statement fails as well.
  const ignore = () => undefined;
  client.on('error', ignore);
  let failed = true;
  try {
    await client.query('begin');
    const { rows } = await client.query<{ seq: string }>(
      `with told as (
         insert into shop.told select seq, wallet, kind, key, data
           from ledger.next_events('books', ${eventsMax}) returning seq)
       select seq from told order by seq desc`,
    );
    if (rows[0]) await client.query(`select ledger.ack_events('books', $1)`, [rows[0].seq]);
    await client.query('commit');
    failed = false;
    return rows.length;
  } finally {
    client.off('error', ignore);
    client.release(failed);
  }
}
