import { sql } from 'drizzle-orm';
import type { LedgerDb } from '../connection/connect-ledger.ts';
import {
  listOf,
  number,
  object,
  oneOf,
  orNull,
  out,
  query,
  text,
} from '../connection/query-rows.ts';
import { isoText } from '../reports/status-sql.ts';

const [asJson, decode] = object({
  name: [sql`c.name`, text],
  kind: [sql`c.kind`, oneOf('consumer', 'webhook')],
  position: [sql`c.position`, number],
  lagEvents: [sql`c.behind`, number],
  lagSeconds: [
    sql`case when c.behind <= 0 then 0
             when c.oldest_at is not null then greatest(0, trunc(extract(epoch from now() - c.oldest_at))) end::float8`,
    orNull(number),
  ],
  state: [
    sql`c.state`,
    oneOf('reading', 'failing', 'paused', 'stopped', 'stalled', 'lost', 'unset'),
  ],
  failingSince: [isoText('c.failing_since'), orNull(text)],
  lastError: [sql`c.last_error`, orNull(text)],
});

/**
 * A consumer or webhook of the change feed. `position`: it has all events up to this one. `lagEvents`: number of those
 * that it has not got; `lagSeconds`: age of the first of them, 0 if there is none, null if it was deleted.
 * `failingSince`: when an event first failed, or when the program stopped the webhook. `unset`: a webhook that no
 * daemon has in FEED_WEBHOOKS any more.
 */
export type FeedConsumer = ReturnType<typeof decode>;

/** All consumers and webhooks of the feed, as a list in JSON; those furthest behind first, at most 500. */
export const feedConsumers = sql`
  select coalesce(json_agg(${asJson} order by c.oldest_at, c.kind, c.name), '[]')
    from (select * from ledger.feed_consumers order by oldest_at, kind, name limit 500) as c`;

/** Reads all consumers and webhooks of the feed. */
export async function readFeedConsumers(db: LedgerDb): Promise<FeedConsumer[]> {
  const [row] = await query(db)`select (${feedConsumers}) as ${out('feed', listOf(decode))}`;
  return row?.feed ?? [];
}

/** States in which events reach the consumer or webhook, or in which an operator has stopped them on purpose. */
const wanted: readonly FeedConsumer['state'][] = ['reading', 'paused', 'unset'];

/** Returns true if events do not reach the consumer, or webhook, although they should. */
export function isFailing({ state }: FeedConsumer): boolean {
  return !wanted.includes(state);
}
