-- Resuming a receiver begins its failures anew: one that still failed was no problem for another ten minutes.
ALTER TABLE engine.webhooks ADD COLUMN resumed_at timestamptz;
--> statement-breakpoint
COMMENT ON COLUMN engine.webhooks.resumed_at IS 'Time of the latest feed resume; null once the receiver has accepted an event since. Until then the first failure is a problem at once';
--> statement-breakpoint
DO $migration$
DECLARE
  definition text := pg_get_functiondef('engine.end_delivery(text, bigint, integer, text, boolean)'::regprocedure);
  moved text := 'UPDATE engine.webhooks w SET moved_at = now() WHERE w.name = end_delivery.receiver;';
BEGIN
  ASSERT strpos(definition, moved) > 0, moved;
  EXECUTE replace(definition, moved,
    'UPDATE engine.webhooks w SET moved_at = now(), resumed_at = NULL WHERE w.name = end_delivery.receiver;');
END $migration$;
--> statement-breakpoint
DO $migration$
DECLARE
  definition text := rtrim(pg_get_viewdef('ledger.feed_problems'::regclass), E'; \n');
  patience text := $sql$((c.state = 'failing'::text) AND (c.failing_since < (now() - '00:10:00'::interval)))$sql$;
BEGIN
  ASSERT strpos(definition, patience) > 0, definition;
  EXECUTE 'CREATE OR REPLACE VIEW ledger.feed_problems AS ' || replace(definition, patience,
    $sql$c.state = 'failing' AND (c.failing_since < now() - interval '10 minutes'
    OR EXISTS (SELECT FROM engine.webhooks w WHERE w.name = c.name AND c.kind = 'webhook' AND w.resumed_at IS NOT NULL))$sql$);
END $migration$;
--> statement-breakpoint
SELECT engine.settle_rights();
