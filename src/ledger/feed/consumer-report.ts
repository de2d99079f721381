import { sql } from 'drizzle-orm';
import type { LedgerDb } from '../connection/connect-ledger.ts';
import { isoText } from '../reports/status-sql.ts';

/**
 * A consumer or webhook of the change feed. `position`: it has all events up to this one. `lagEvents`: number of those
 * that it has not got; `lagSeconds`: age of the first of them, 0 if there is none.
 */
export type FeedConsumer = {
  name: string;
  kind: 'consumer' | 'webhook';
  position: number;
  lagEvents: number;
  lagSeconds: number;
  state: 'reading' | 'failing' | 'paused' | 'stopped' | 'stalled' | 'lost';
  /** When an event first failed, or when the program stopped the webhook. */
  failingSince: string | null;
  lastError: string | null;
};

/** All consumers and webhooks of the feed, as a list in JSON; those furthest behind first, at most 500. */
export const feedConsumers = sql`
  select coalesce(json_agg(c order by c."lagSeconds" desc, c.kind, c.name), '[]')
    from (select name, kind, position::float8 as position, behind::float8 as "lagEvents",
                 coalesce(greatest(0, trunc(extract(epoch from now() - oldest_at))), 0)::float8 as "lagSeconds", state,
                 ${isoText('failing_since')} as "failingSince", last_error as "lastError"
            from ledger.feed_consumers order by oldest_at, name limit 500) as c`;

/** Reads all consumers and webhooks of the feed. */
export async function readFeedConsumers(db: LedgerDb): Promise<FeedConsumer[]> {
  const { rows } = await db.execute<{ feed: FeedConsumer[] }>(
    sql`select (${feedConsumers}) as feed`,
  );
  return rows[0]?.feed ?? [];
}

/** Returns true if events do not reach the consumer, or webhook, and nobody has paused it. */
export function isFailing({ state }: FeedConsumer): boolean {
  return state !== 'reading' && state !== 'paused';
}
