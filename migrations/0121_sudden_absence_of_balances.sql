-- One empty answer unlisted all balances. A balance that the service no longer named was said to have changed.
ALTER TABLE engine.snapshots ADD COLUMN empty_since timestamp with time zone;
--> statement-breakpoint
COMMENT ON COLUMN engine.snapshots.empty_since IS 'Since when the service has named no balance while the ledger has some that are not 0; null: it has named some last. Balances count as no longer listed only after ten minutes of it';
--> statement-breakpoint
SELECT engine.make_own_views();
--> statement-breakpoint
DO $migration$
DECLARE
  definition text := pg_get_functiondef('ledger.reconcile(timestamptz)'::regprocedure);
  piece text := $sql$CASE WHEN h.moved_amount <> 0 THEN 'the balance changed after the transaction lists were read' END$sql$;
BEGIN
  ASSERT strpos(definition, piece) > 0, piece;
  EXECUTE replace(definition, piece,
    $sql$CASE WHEN h.moved_amount <> 0 AND h.is_listed THEN 'the balance changed after the transaction lists were read'
                WHEN h.moved_amount <> 0 THEN 'the service has stopped listing the balance since the transaction lists were read' END$sql$);
END $migration$;
--> statement-breakpoint
-- An empty list of balances is a problem at once, whatever the pace of the readings.
DO $migration$
DECLARE
  definition text := pg_get_functiondef('engine.problems_of(text)'::regprocedure);
  piece text := $sql$AND j.failing_since < now() - greatest(j.patience_min, j.retried_within)$sql$;
BEGIN
  ASSERT strpos(definition, piece) > 0, piece;
  EXECUTE replace(definition, piece,
    $sql$AND (j.failing_since < now() - greatest(j.patience_min, j.retried_within)
            OR j.job IN (SELECT s.name FROM own.snapshots s WHERE s.empty_since IS NOT NULL))$sql$);
END $migration$;
--> statement-breakpoint
SELECT engine.settle_rights();
