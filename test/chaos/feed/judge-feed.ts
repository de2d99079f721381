import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { type Invariant, invariant } from '../report.ts';
import type { Receiver, Told } from './receivers.ts';

const pollMs = 500;
/** A receiver that refused for a long time is retried after minutes. */
const restMs = 600_000;
/** Events from before the first daemon knew its receivers. */
const firstSeqMax = 50;

/** Waits until the consumer and all receivers have received all current events; returns the last seq. */
export async function untilTold(
  database: pg.Pool,
  receivers: readonly Receiver[],
): Promise<number> {
  const { rows } = await database.query('select ledger.events_head()::int as head');
  const head = Number(rows[0]?.head ?? 0);
  let fewest = Number.POSITIVE_INFINITY;
  let progressAt = performance.now();
  for (;;) {
    const booked = await database.query(
      'select count(*)::int as count from shop.told where seq <= $1',
      [head],
    );
    const missing =
      head -
      Number(booked.rows[0]?.count ?? 0) +
      receivers.reduce((sum, receiver) => sum + missingOf(receiver, head).length, 0);
    const now = performance.now();
    if (missing < fewest) progressAt = now;
    fewest = Math.min(fewest, missing);
    if (missing === 0 || now - progressAt > restMs) return head;
    await delay(pollMs);
  }
}

/** Checks the guarantees of the feed, up to the event `head`. */
export async function judgeFeed(
  database: pg.Pool,
  receivers: readonly Receiver[],
  { head, repeated }: { head: number; repeated: string[] },
): Promise<Invariant[]> {
  const find = async (statement: string) => (await database.query(statement)).rows;
  const { rows: events } = await database.query<Told>(
    'select seq::int, wallet, kind, key, data from ledger.events where seq <= $1 order by seq',
    [head],
  );
  return [
    invariant('feed.gapless', 'The events of the feed have the numbers from 1 to the last', [
      ...events.filter(({ seq }, index) => seq !== index + 1).slice(0, 1),
      ...(events.length === head && head > 0 ? [] : [{ events: events.length, head }]),
    ]),
    invariant('feed.books', 'A consumer in the database has booked each event once, as it is', [
      ...repeated,
      ...(await find(`
        select seq, e.kind as event, t.kind as booked from ledger.events e
          full join shop.told t using (seq)
         where seq <= ${head}
           and (e.wallet, e.kind, e.key, e.data) is distinct from (t.wallet, t.kind, t.key, t.data)`)),
    ]),
    invariant(
      'feed.fold',
      'The last event of a transaction is its row, and each one that came in has been seen once',
      await find(differences),
    ),
    ...receivers.map((receiver) =>
      invariant(
        `feed.webhooks.${receiver.name}`,
        `The ${receiver.name} receiver was told of each event, as it is, in order per key, with good signatures`,
        judgeReceiver(receiver, events),
      ),
    ),
  ];
}

/** The first detail of a historical row adds values without an event. */
const differences = `
with last as (
  select distinct on (wallet, key) wallet, key, data from shop.told
   where kind like 'transaction.%' order by wallet, key, seq desc),
seen as (
  select wallet, key, count(*) filter (where kind = 'transaction.seen') as times
    from shop.told where kind like 'transaction.%' group by 1, 2)
select t.order_no, l.data ->> 'state' as told, t.state, l.data ->> 'confirm_num' as told_confirms, t.confirm_num, s.times
  from ledger.transactions t
  left join last l on l.wallet = t.wallet and l.key = t.order_no
  left join seen s on s.wallet = t.wallet and s.key = t.order_no
 where (l.key is not null
        and (l.data ->> 'state', (l.data ->> 'amount')::numeric, l.data ->> 'tx_hash',
             (l.data ->> 'is_final')::boolean, (l.data ->> 'is_listed')::boolean)
            is distinct from (t.state, t.amount, t.tx_hash, t.is_final, t.is_listed))
    or (not t.is_backfilled
        and ((l.data ->> 'fee')::numeric, (l.data ->> 'confirm_num')::integer) is distinct from (t.fee, t.confirm_num))
    or coalesce(s.times, 0) <> case when t.is_backfilled then 0 else 1 end`;

function judgeReceiver(receiver: Receiver, events: readonly Told[]): unknown[] {
  const found: unknown[] = receiver.forged > 0 ? [{ forged: receiver.forged }] : [];
  const head = events.length;
  const first = Math.min(...receiver.told.map(({ seq }) => seq));
  if (first > firstSeqMax) found.push({ first });
  found.push(...missingOf(receiver, head).map((seq) => ({ missing: seq })));
  const known = new Set<number>();
  const latest = new Map<string, number>();
  for (const told of receiver.told) {
    const { seq, wallet, key } = told;
    const event = events[seq - 1];
    if (event && JSON.stringify(partsOf(told)) !== JSON.stringify(partsOf(event)))
      found.push({ seq, told, event });
    if (known.has(seq)) continue;
    known.add(seq);
    const subject = `${wallet}/${key}`;
    const before = latest.get(subject) ?? 0;
    if (before > seq) found.push({ seq, after: before, subject });
    latest.set(subject, seq);
  }
  return found;
}

/** A receiver begins after the event that was the latest when it was first configured. */
function missingOf({ told }: Receiver, head: number): number[] {
  const known = new Set(told.map(({ seq }) => seq));
  const first = Math.min(...known);
  if (known.size === 0) return head > firstSeqMax ? [head] : [];
  return Array.from({ length: Math.max(0, head - first + 1) }, (_, nth) => first + nth).filter(
    (seq) => !known.has(seq),
  );
}

function partsOf({ wallet, kind, key, data }: Told): unknown[] {
  return [wallet, kind, key, data];
}
