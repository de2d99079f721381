-- A sum that equals a balance that could not be read is no agreement to the digit: the explanation names the reject.
DO $migration$
DECLARE
  definition text := pg_get_functiondef('ledger.reconcile(timestamptz)'::regprocedure);
  piece text := $sql$CASE WHEN w.difference = 0 OR w.reasons = '' THEN s.standing$sql$;
BEGIN
  ASSERT strpos(definition, piece) > 0, piece;
  EXECUTE replace(definition, piece,
    $sql$CASE WHEN w.reasons = '' OR w.difference = 0 AND (w.is_unread OR w.open_amount IS NOT NULL) THEN s.standing$sql$);
END $migration$;
--> statement-breakpoint
DO $migration$
DECLARE
  definition text := pg_get_functiondef('ledger.reconcile_assets(timestamptz)'::regprocedure);
  piece text := $sql$WHEN w.difference = 0 THEN NULL$sql$;
BEGIN
  ASSERT strpos(definition, piece) > 0, piece;
  EXECUTE replace(definition, piece,
    $sql$WHEN w.difference = 0 THEN CASE WHEN w.open_amount IS NULL THEN w.explanation END$sql$);
END $migration$;
--> statement-breakpoint
COMMENT ON COLUMN ledger.reconciliation.explanation IS 'Open transactions or values, with their numbers, or the reason why they cannot cause the difference; null when nothing is open, or when difference is 0 and all amounts are known';
--> statement-breakpoint
COMMENT ON COLUMN ledger.asset_reconciliation.explanation IS 'Possible cause of the difference, or the reason why there is none; null when nothing is open, or when difference is 0 and all amounts are known';
--> statement-breakpoint
COMMENT ON COLUMN ledger.reconciliation_runs.explanation IS 'Why the difference is explained or not, by the latest check; null when nothing is open, or when the difference is 0 and all amounts are known';
--> statement-breakpoint
SELECT engine.settle_rights();
