-- A list that was read from end to end and has no usable total is like one whose total is wrong: neither another pass nor
-- a repair can prove it, and the operator of the service has to be asked.
DO $migration$
DECLARE
  definition text := pg_get_functiondef('engine.problems_of(text)'::regprocedure);
  piece CONSTANT text := 'l.is_backed AND l.doubt IS NULL AND l.conflicts = 0 AND l.accepted_difference <> 0
             AND l.service_total - l.ledger_count = l.accepted_difference AS is_known_difference';
BEGIN
  ASSERT strpos(definition, piece) > 0, piece;
  EXECUTE replace(definition, piece,
'l.is_backed AND l.doubt IS NULL AND l.conflicts = 0
             AND (l.service_total IS NULL OR l.accepted_difference <> 0
                  AND l.service_total - l.ledger_count = l.accepted_difference) AS is_known_difference');
END $migration$;
