import { type SQL, sql } from 'drizzle-orm';
import type { Ledger, LedgerDb } from '../connection/connect-ledger.ts';
import { number, out, pick, query } from '../connection/query-rows.ts';
import { events } from '../schema/events.ts';
import { deliveries, webhooks } from '../schema/webhooks.ts';
import { type FeedEvent, facts, isoTime } from './event-store.ts';
import { eventsChannel } from './feed-channels.ts';

/** An event to be sent to a receiver. `attempts`: those that were made before. */
export type DueDelivery = { seq: number; attempts: number };
/** An event that this process may send now. `attempt`: its number, which proves the claim when the attempt ends. */
export type ClaimedDelivery = { event: FeedEvent; attempt: number };
/** Failure of an attempt. `isGone`: the receiver answered 410, so no further event may be sent to it. */
export type DeliveryFailure = { message: string; isGone: boolean };

/** Adds the new receivers; they begin after the latest event. */
export async function addReceivers(db: LedgerDb, names: readonly string[]): Promise<void> {
  await db.execute(sql`
    insert into engine.webhooks (name, position)
    select n.name, ledger.events_head() from unnest(${sql.param([...names])}::text[]) as n (name)
    on conflict do nothing`);
}

/**
 * Records that a running daemon has these receivers in its settings. Marks the receivers that no daemon has any more:
 * none has recorded them for 45 s. Call it every 15 s. While daemons with different settings run, the receivers of all
 * of them count.
 */
export async function noteReceivers(db: LedgerDb, names: readonly string[]): Promise<void> {
  const own = sql.param([...names]);
  await db.execute(sql`
    update engine.webhooks w set set_at = now(), unset_at = null
     where w.name = any(${own}::text[]) and (w.unset_at is not null or w.set_at < now() - interval '12 seconds')`);
  await db.execute(sql`
    update engine.webhooks w set unset_at = now()
     where w.name <> all(${own}::text[]) and w.unset_at is null and w.set_at < now() - interval '45 seconds'`);
}

/**
 * Adds further events to the deliveries of a receiver. Returns those that may be sent now: at most `max`, including
 * those that are being sent. `isProbe`: returns any that were not tried yet, so that events which the receiver never
 * accepts do not hide that it accepts others.
 */
export async function readDueDeliveries(
  db: LedgerDb,
  receiver: string,
  { max, isProbe }: { max: number; isProbe: boolean },
): Promise<DueDelivery[]> {
  await db.execute(sql`select engine.take_over_events(${receiver})`);
  return await query(db)`
    select d.seq as ${out('seq', number)}, d.attempts as ${out('attempts', number)} from engine.due_deliveries d
     where d.receiver = ${receiver} and exists (select from ${events} where ${events.seq} = d.seq)
     order by ${isProbe ? sql`random() + sign(d.attempts)` : sql`d.due_at, d.seq`}
     limit greatest(0, ${max} - (select count(*) from engine.deliveries o
                                  where o.receiver = ${receiver} and o.claimed_until > now()))`;
}

/** Claims an event for one attempt of at most 30 s; null if it may not be sent now. */
export async function claimDelivery(
  db: LedgerDb,
  receiver: string,
  seq: number,
): Promise<ClaimedDelivery | null> {
  const [claimed] = await query(db)`
    select c.attempt as ${out('attempt', number)}, c.wallet as ${out('wallet', String)}, c.kind as ${out('kind', String)}, c.key as ${out('key', String)},
           ${isoTime(sql`c.recorded_at`)} as ${out('recordedAt', String)}, c.data as ${out('data', facts)}
      from engine.claim_delivery(${receiver}, ${seq}) as c`;
  if (claimed === undefined) return null;
  const { attempt, ...event } = claimed;
  return { event: { seq, ...event }, attempt };
}

/** Ends an attempt. `failure`: null if the receiver accepted the event. */
export async function endDelivery(
  db: LedgerDb,
  { receiver, seq, attempt }: { receiver: string; seq: number; attempt: number },
  failure: DeliveryFailure | null,
): Promise<void> {
  const message = failure?.message ?? null;
  await db.execute(
    sql`select engine.end_delivery(${receiver}, ${seq}, ${attempt}, ${message}, ${failure?.isGone ?? false})`,
  );
}

/** Returns the names of all receivers, those that are no longer set included. */
export async function listReceivers(db: LedgerDb): Promise<string[]> {
  const rows = await query(db)`select ${pick({ name: webhooks.name })} from ${webhooks} order by 1`;
  return rows.map(({ name }) => name);
}

/** Sends nothing more to a receiver until `resumeReceiver`. */
export async function pauseReceiver(db: LedgerDb, name: string): Promise<void> {
  await db.execute(
    sql`update engine.webhooks set paused_at = coalesce(paused_at, now()) where name = ${name}`,
  );
}

/**
 * Sends to the receiver again, at once. The period of 7 days for events that failed starts again. The next failure is a
 * problem at once, unless the receiver has accepted an event by then.
 */
export async function resumeReceiver(db: LedgerDb, name: string): Promise<void> {
  await db.execute(sql`
    with resumed as (
      update engine.webhooks set paused_at = null, stopped_because = null, resumed_at = now()
       where name = ${name} returning name),
    renewed as (
      update engine.deliveries d set failed_since = null, due_at = now() from resumed r where d.receiver = r.name)
    select pg_notify('ledger_events', '') from resumed`);
}

/**
 * Delivers the event `from`, and all after it, again. Earlier events that the receiver has not accepted yet stay due.
 * Events that were deleted are not delivered again. An event that is being sent is sent again after its claim has
 * ended.
 */
export async function replayEvents(ledger: Ledger, name: string, from: number): Promise<void> {
  const isStored = (seq: SQL) => sql`exists (select from ${events} where ${events.seq} = ${seq})`;
  const { receiver, seq, claimedUntil } = deliveries;
  const isOwn = sql`${receiver} = ${name}`;
  await ledger.transaction(async (db) => {
    await db.execute(sql`select from engine.webhooks w where w.name = ${name} for update`);
    await db.execute(sql`
      delete from ${deliveries}
       where ${isOwn} and (not ${isStored(sql`${seq}`)}
         or ${seq} >= ${from} and coalesce(${claimedUntil} <= now(), true))`);
    // The answer to an attempt under way does not count.
    await db.execute(sql`
      update ${deliveries} set attempts = attempts + 1 where ${isOwn} and ${seq} >= ${from}`);
    await db.execute(sql`
      update engine.webhooks w
         set position = case when ${isStored(sql`w.position + 1`)} then least(w.position, ${from} - 1) else ${from} - 1 end
       where w.name = ${name}`);
    await db.execute(sql`select pg_notify(${eventsChannel}, '')`);
  });
}
