CREATE INDEX "deliveries_due" ON "engine"."deliveries" USING btree ("receiver","due_at","seq");
--> statement-breakpoint
CREATE INDEX "deliveries_claimed" ON "engine"."deliveries" USING btree ("receiver") WHERE "engine"."deliveries"."claimed_until" is not null;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION engine.take_over_events(receiver text) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  places CONSTANT bigint := 5000;
  done bigint := (SELECT w.position FROM engine.webhooks w
                   WHERE w.name = receiver AND w.paused_at IS NULL AND w.position < ledger.events_head() FOR UPDATE);
  first bigint;
  room bigint;
BEGIN
  IF done IS NULL OR NOT EXISTS (SELECT FROM ledger.events e WHERE e.seq = done + 1) THEN RETURN; END IF;
  -- No more wait than have numbers from the first one to the position. To count them would take the longer the more
  -- they are, before each attempt.
  SELECT min(d.seq) INTO first FROM engine.deliveries d WHERE d.receiver = take_over_events.receiver;
  room := places - coalesce(done - first + 1, 0);
  IF room <= 0 THEN
    room := places - (SELECT count(*) FROM engine.deliveries d WHERE d.receiver = take_over_events.receiver);
  END IF;
  WITH page AS MATERIALIZED (
    SELECT e.seq, e.wallet || '/' || e.key AS key FROM ledger.events e WHERE e.seq > done ORDER BY e.seq LIMIT greatest(0, room)),
  stored AS (
    INSERT INTO engine.deliveries (receiver, seq, key) SELECT take_over_events.receiver, p.seq, p.key FROM page p
    ON CONFLICT DO NOTHING)
  UPDATE engine.webhooks w SET position = p.last
    FROM (SELECT max(page.seq) AS last FROM page) AS p WHERE w.name = take_over_events.receiver AND p.last IS NOT NULL;
END $$;
--> statement-breakpoint
DROP FUNCTION engine.replay_events(text, bigint);
--> statement-breakpoint
SELECT engine.settle_rights();
