-- In a repeatable-read or serializable transaction next_events returned nothing, without a word, while no daemon gave
-- numbers. The lock alone does not protect such a transaction: it may miss numbers that another session has given since
-- its snapshot. It then meets the same outbox rows or numbers, and fails; so it may number as well.
DO $migration$
DECLARE
  definition text := pg_get_functiondef('engine.sequence_events(integer)'::regprocedure);
  edit text[];
BEGIN
  FOREACH edit SLICE 1 IN ARRAY ARRAY[
    ARRAY[$find$  -- A snapshot of the whole transaction may miss numbers that another session has given meanwhile.
  IF current_setting('transaction_isolation') <> 'read committed' OR NOT pg_try_advisory_xact_lock(7246005) THEN
$find$,
          $put$  IF NOT pg_try_advisory_xact_lock(7246005) THEN
$put$],
    -- In a snapshot of the whole transaction its own number lies in the future, as one that was copied does.
    ARRAY['o.xact < pg_snapshot_xmax(s.running) AS waits',
          'o.xact < pg_snapshot_xmax(s.running)
           OR coalesce(o.xact = pg_current_xact_id_if_assigned(), false) AS waits']]
  LOOP
    ASSERT cardinality(string_to_array(definition, edit[1])) = 2, edit[1];
    definition := replace(definition, edit[1], edit[2]);
  END LOOP;
  EXECUTE definition;
END $migration$;
--> statement-breakpoint
COMMENT ON FUNCTION engine.sequence_events IS 'Gives numbers to committed events, at most so many: how many got one, and whether others wait for a transaction that is open. Both null: another session does it. In a transaction with one snapshot it fails when another session has given numbers since the snapshot';
--> statement-breakpoint
CREATE OR REPLACE FUNCTION engine.sequence_if_alone() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  has_one_snapshot boolean := current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted');
  -- What was young in the one snapshot of the transaction may have got its number from a daemon since.
  looked_at timestamptz := CASE WHEN has_one_snapshot THEN transaction_timestamp() ELSE clock_timestamp() END;
BEGIN
  IF EXISTS (SELECT FROM engine.outbox)
     AND (EXISTS (SELECT FROM engine.outbox o WHERE o.recorded_at < looked_at - interval '5 seconds')
          OR NOT EXISTS (SELECT FROM pg_locks l JOIN pg_database d ON d.oid = l.database
                          WHERE d.datname = current_database() AND l.locktype = 'advisory' AND l.granted
                            AND l.classid = 0 AND l.objid = 7246006)) THEN
    BEGIN
      PERFORM engine.sequence_events(10000);
    EXCEPTION WHEN serialization_failure OR unique_violation THEN
      RAISE EXCEPTION 'events of the change feed have got their numbers since this transaction began'
        USING ERRCODE = 'serialization_failure', HINT = 'run the transaction again: it then sees them';
    END;
  END IF;
END $$;
--> statement-breakpoint
CREATE OR REPLACE VIEW ledger.feed_consumers AS
SELECT c.name, c.kind, c.position, c.behind, c.oldest_at,
       CASE WHEN c.is_unset THEN 'unset'
            WHEN c.position < (SELECT min(o.seq) FROM ledger.events o) - 1 THEN 'lost'
            WHEN c.stopped_because IS NOT NULL THEN 'stopped'
            WHEN c.paused_at IS NOT NULL THEN 'paused'
            WHEN c.failing_since IS NOT NULL THEN 'failing'
            WHEN c.oldest_at < now() - interval '1 day' THEN 'stalled'
            ELSE 'reading' END AS state,
       CASE WHEN c.is_unset THEN NULL
            WHEN c.stopped_because IS NOT NULL THEN c.paused_at ELSE c.failing_since END AS failing_since,
       CASE WHEN NOT c.is_unset
            THEN coalesce(c.stopped_because, CASE WHEN c.failing_since IS NOT NULL THEN c.last_error END) END AS last_error,
       c.moved_at
  FROM (SELECT k.name, k.kind, k.position, k.moved_at, k.paused_at, k.stopped_because, k.failing_since, k.last_error, k.is_unset,
               k.behind + (SELECT count(*) FROM engine.outbox) AS behind,
               CASE WHEN k.position < ledger.events_head() THEN e.recorded_at
                    ELSE (SELECT o.recorded_at FROM engine.outbox o ORDER BY o.id LIMIT 1) END AS oldest_at
          FROM (SELECT k.name, 'consumer'::text AS kind, k.position, ledger.events_head() - k.position AS behind, k.moved_at,
                       NULL::timestamptz AS paused_at, NULL::text AS stopped_because, NULL::timestamptz AS failing_since,
                       NULL::text AS last_error, false AS is_unset
                  FROM engine.consumers k
                UNION ALL
                SELECT w.name, 'webhook', coalesce(d.first - 1, w.position), ledger.events_head() - w.position + d.open, w.moved_at,
                       w.paused_at, w.stopped_because, d.failing_since, w.last_error, w.unset_at IS NOT NULL
                  FROM engine.webhooks w
                  CROSS JOIN LATERAL (SELECT min(o.seq) AS first, count(*) AS open, min(o.failed_since) AS failing_since
                                        FROM engine.deliveries o WHERE o.receiver = w.name) AS d) AS k
          LEFT JOIN ledger.events e ON e.seq = k.position + 1) AS c;
--> statement-breakpoint
COMMENT ON COLUMN ledger.feed_consumers.behind IS 'Number of events that it has not got yet, with those that have no number yet';
--> statement-breakpoint
COMMENT ON COLUMN ledger.feed_consumers.oldest_at IS 'When the first event that it has not got was recorded, or written if it has no number yet; null when there is none';
--> statement-breakpoint
-- The time for which an event is kept begins with its number.
DO $migration$
DECLARE
  definition text := rtrim(pg_get_viewdef('ledger.feed_problems'::regclass), E'; \n');
  deleted text := $sql$' of the change feed; it is deleted on '::text) || to_char(((c.oldest_at + '30 days'::interval) AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD'::text)) AS what$sql$;
BEGIN
  ASSERT cardinality(string_to_array(definition, deleted)) = 2, definition;
  EXECUTE 'CREATE OR REPLACE VIEW ledger.feed_problems AS ' || replace(definition, deleted,
    $sql$' of the change feed') || CASE WHEN c."position" < ledger.events_head()
       THEN '; it is deleted on ' || to_char((c.oldest_at + interval '30 days') AT TIME ZONE 'UTC', 'YYYY-MM-DD')
       ELSE ', which still waits for its number' END) AS what$sql$);
END $migration$;
--> statement-breakpoint
SELECT engine.settle_rights();
