-- A row that is open and no longer listed keeps its checks. That the service gives no detail of it either needs nobody.
DO $migration$
DECLARE
  definition text := pg_get_functiondef('engine.problems_of(text)'::regprocedure);
  piece CONSTANT text := 'FROM own.detail_checks d WHERE d.turn = 3 AND d.refusals >= 5 HAVING count(*) > 0';
BEGIN
  ASSERT strpos(definition, piece) > 0, piece;
  EXECUTE replace(definition, piece,
    'FROM own.detail_checks d
     WHERE d.turn = 3 AND d.refusals >= 5
       AND NOT EXISTS (SELECT FROM own.transactions t WHERE t.order_no = d.order_no AND NOT t.is_listed)
    HAVING count(*) > 0');
END $migration$;
