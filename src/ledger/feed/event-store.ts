import { type SQL, sql } from 'drizzle-orm';
import { alias } from 'drizzle-orm/pg-core';
import type { LedgerDb } from '../connection/connect-ledger.ts';
import { number, out, pick, query, truth } from '../connection/query-rows.ts';
import { events } from '../schema/events.ts';

/**
 * An event of the change feed. `recordedAt`: ISO 8601, UTC. `wallet`: empty for a problem of the whole database.
 * `data`: the row as it was then, money as text.
 */
export type FeedEvent = {
  seq: number;
  recordedAt: string;
  wallet: string;
  kind: string;
  key: string;
  data: Record<string, unknown>;
};

/** Events that get a number in one transaction. */
const batchMax = 5_000;

/**
 * Result of a run. `isWaiting`: further events wait for a transaction that is open, or another session is giving
 * numbers. `isMore`: there may be further ones that do not wait.
 */
type Sequenced = { numbered: number; isWaiting: boolean; isMore: boolean };

/** Gives numbers to committed events, in one transaction. */
export async function sequenceEvents(db: LedgerDb): Promise<Sequenced> {
  const [run] = await query(db)`
    select coalesce(s.numbered, 0) as ${out('numbered', number)}, coalesce(s.is_waiting, true) as ${out('isWaiting', truth)}
      from engine.sequence_events(${batchMax}) as s`;
  const { numbered = 0, isWaiting = true } = run ?? {};
  return { numbered, isWaiting, isMore: numbered === batchMax };
}

/** Deletes a slice of the events that the feed no longer keeps; false if there was none. */
export async function pruneEvents(db: LedgerDb): Promise<boolean> {
  const [slice] = await query(db)`select engine.prune_events() as ${out('deleted', number)}`;
  return (slice?.deleted ?? 0) > 0;
}

/** Bytes of `data` after which a page ends: many clients read at once, and a service may fill every field. */
const pageBytesMax = 512 * 1024;

const e = alias(events, 'e');
const eventColumns = pick({
  seq: e.seq,
  recordedAt: [isoTime(sql`e.recorded_at`), String],
  wallet: e.wallet,
  kind: e.kind,
  key: e.key,
  data: [sql`e.data`, facts],
});

/**
 * Returns the events with numbers above `after`, oldest first: at most `max`, fewer if they are large, but at least
 * one.
 */
export async function readEvents(db: LedgerDb, after: number, max: number): Promise<FeedEvent[]> {
  return await query(db)`
    select ${eventColumns}
      from (select n.*, sum(octet_length(n.data::text)) over (order by n.seq rows unbounded preceding)
                          - octet_length(n.data::text) as bytes_before
              from (select * from ${events} where ${events.seq} > ${after} order by ${events.seq} limit ${max}) as n) as e
     where e.bytes_before < ${pageBytesMax} order by e.seq`;
}

/** Formats a time as ISO 8601 in UTC, with all its digits. */
export function isoTime(time: SQL): SQL {
  return sql`to_json(${time} at time zone 'UTC') #>> '{}' || 'Z'`;
}

export function facts(value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null) throw new Error('an event has no data');
  return { ...value };
}
