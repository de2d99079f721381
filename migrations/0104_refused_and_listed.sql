-- The rows that the cure names are those that the problem counts: the service lists them.
DO $migration$
DECLARE
  definition text := pg_get_functiondef('engine.problems_of(text)'::regprocedure);
  piece CONSTANT text := 'select order_no from ledger.waiting_details where refusals >= 5';
BEGIN
  ASSERT strpos(definition, piece) > 0, piece;
  EXECUTE replace(definition, piece,
    'select order_no from ledger.waiting_details join ledger.transactions using (wallet, order_no) where is_listed and refusals >= 5');
END $migration$;
