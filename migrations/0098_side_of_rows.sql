-- A row that two lists show now belongs to the one that its type names, whichever is read first.
COMMENT ON COLUMN ledger.transactions.stream IS 'List in which the row is counted: the one that shows it, deposit or withdraw; of two lists the one that its type names, otherwise the one that showed it first';
--> statement-breakpoint
DO $migration$
DECLARE
  definition text := pg_get_functiondef('engine.problems_of(text)'::regprocedure);
  side CONSTANT text := 'the service seems to ignore the type parameter, and rows count on the wrong side';
  rows CONSTANT text := 'CASE WHEN max(l.conflicts) = 1 THEN ''row is'' ELSE ''rows are'' END';
BEGIN
  ASSERT strpos(definition, side) > 0 AND strpos(definition, rows) > 0;
  definition := replace(definition, side, 'the service seems to ignore the type parameter, and rows may count on the wrong side');
  -- The row may have moved since, which only another reading of the first list shows.
  EXECUTE replace(definition, rows, 'CASE WHEN max(l.conflicts) = 1 THEN ''row has been'' ELSE ''rows have been'' END');
END $migration$;
