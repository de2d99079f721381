-- What another transaction commits while a statement waits is not in the statement's snapshot.
CREATE FUNCTION engine.checked_observation(order_no text) RETURNS bigint
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  RETURN (SELECT c.observation FROM own.detail_checks c WHERE c.order_no = checked_observation.order_no);
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION engine.checked_observation IS 'Observation of the last detail that found the row as it is; null if none did. Called for a row that is locked, it also sees the detail for which the lock has waited';
--> statement-breakpoint
CREATE OR REPLACE FUNCTION engine.find_verified_through(of_wallet text, of_stream text) RETURNS void
LANGUAGE sql
SET search_path = pg_catalog, pg_temp
AS $$
-- A transaction that adds a day has changed the list's row: the next statement sees that day.
SELECT FROM ledger.streams s WHERE s.wallet = of_wallet AND s.name = of_stream FOR NO KEY UPDATE;
UPDATE ledger.streams s SET verified_through = c.verified_through
  FROM (SELECT CASE WHEN bool_and(x.verified_at IS NOT NULL) THEN min(x.verified_at) END AS verified_through
          FROM ledger.coverage x
         WHERE x.wallet = of_wallet AND x.stream = of_stream AND x.transactions > 0 HAVING count(*) > 0) AS c
 WHERE s.wallet = of_wallet AND s.name = of_stream AND s.verified_through IS DISTINCT FROM c.verified_through
$$;
--> statement-breakpoint
DO $migration$
DECLARE
  present text := pg_get_functiondef('engine.recount_use(text, text[])'::regprocedure);
  changed text := replace(present, 'first_deposit_at = d.occurred_at' || E'\n',
                          'first_deposit_at = d.occurred_at,' || E'\n'
                          || '         -- A deposit that is being stored is not counted: the address is checked again.' || E'\n'
                          || '         unchecked_until = ''0''' || E'\n');
BEGIN
  ASSERT changed <> present;
  EXECUTE changed;
END $migration$;
--> statement-breakpoint
-- Events that were deleted between the check of the position and the reading were left out without a word.
CREATE OR REPLACE FUNCTION ledger.next_events(consumer text, max integer DEFAULT 100) RETURNS SETOF ledger.events
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  done bigint := engine.hold_consumer(consumer);
BEGIN
  PERFORM engine.sequence_if_alone();
  RETURN QUERY SELECT e.* FROM ledger.events e WHERE e.seq > done ORDER BY e.seq
                LIMIT greatest(1, least(next_events.max, 10000));
  PERFORM engine.require_position(done);
END $$;
--> statement-breakpoint
DO $migration$
DECLARE
  present text := pg_get_functiondef('engine.take_over_events(text)'::regprocedure);
  changed text := replace(present, 'FROM ledger.events e WHERE e.seq > done ORDER BY',
                          'FROM ledger.events e' || E'\n'
                          || '     WHERE e.seq > done AND EXISTS (SELECT FROM ledger.events f WHERE f.seq = done + 1) ORDER BY');
BEGIN
  ASSERT changed <> present;
  EXECUTE changed;
END $migration$;
--> statement-breakpoint
SELECT engine.settle_rights();
