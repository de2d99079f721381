-- A row that two lists show now belongs to the one that its type names, whichever is read first.
COMMENT ON COLUMN ledger.transactions.stream IS 'List in which the row is counted: the one that shows it, deposit or withdraw; of two lists the one that its type names, otherwise the one that showed it first';
--> statement-breakpoint
DO $migration$
DECLARE
  definition text := pg_get_functiondef('engine.problems_of(text)'::regprocedure);
  piece CONSTANT text := 'the service seems to ignore the type parameter, and rows count on the wrong side';
BEGIN
  ASSERT strpos(definition, piece) > 0, piece;
  EXECUTE replace(definition, piece, 'the service seems to ignore the type parameter, and rows may count on the wrong side');
END $migration$;
