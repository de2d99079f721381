-- The queue may be in Redis, which the database cannot see: the daemons tell what is wrong with it, every half minute.
CREATE TABLE engine.queue_problems (
  name text PRIMARY KEY,
  severity text NOT NULL,
  since timestamptz NOT NULL,
  seen_at timestamptz NOT NULL,
  what text NOT NULL,
  cure text NOT NULL
);
--> statement-breakpoint
COMMENT ON TABLE engine.queue_problems IS 'Problems of the queue as a daemon saw them last, for ledger.problems';
COMMENT ON COLUMN engine.queue_problems.name IS 'As problems.name';
COMMENT ON COLUMN engine.queue_problems.severity IS 'As problems.severity';
COMMENT ON COLUMN engine.queue_problems.since IS 'Time when a daemon first saw it; it has been seen every half minute since';
COMMENT ON COLUMN engine.queue_problems.seen_at IS 'Time when a daemon last saw it';
COMMENT ON COLUMN engine.queue_problems.what IS 'As problems.what';
COMMENT ON COLUMN engine.queue_problems.cure IS 'As problems.cure';
COMMENT ON VIEW ledger.problems IS 'Problems that need a person, ordered by severity and age; empty when there are none. Problems of the queue are told by the daemons, within a minute and a half';
--> statement-breakpoint
DO $migration$
BEGIN
  EXECUTE 'CREATE OR REPLACE VIEW engine.database_problems AS '
    || rtrim(pg_get_viewdef('engine.database_problems'::regclass), E'; \n') || '
UNION ALL
SELECT q.name, q.severity, q.since, q.what, q.cure, NULL::text
  FROM engine.queue_problems q
 -- One that is seen once may be gone by itself.
 WHERE q.seen_at > now() - interval ''90 seconds'' AND q.seen_at >= q.since + interval ''20 seconds''';
END $migration$;
--> statement-breakpoint
SELECT engine.settle_rights();
