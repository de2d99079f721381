-- A row that vanished while it was open changes again when its detail does. Only the log says when it vanished.
DO $migration$
DECLARE
  definition text := pg_get_functiondef('engine.problems_of(text)'::regprocedure);
  piece CONSTANT text := '        SELECT count(*) AS rows, min(u.changed_at) AS since
          FROM (SELECT t.changed_at FROM own.transactions t
                 WHERE t.stream = l.name AND NOT t.is_listed ORDER BY t.occurred_at DESC LIMIT 1000) AS u
         WHERE u.changed_at > now() - interval ''1 day'') AS v';
BEGIN
  ASSERT strpos(definition, piece) > 0, piece;
  EXECUTE replace(definition, piece,
'        SELECT count(*) AS rows, min(h.observed_at) AS since
          FROM (SELECT t.order_no, t.changed_at FROM own.transactions t
                 WHERE t.stream = l.name AND NOT t.is_listed ORDER BY t.occurred_at DESC LIMIT 1000) AS u
         CROSS JOIN LATERAL (
            SELECT max(c.observed_at) AS observed_at FROM own.transaction_changes c
             WHERE c.order_no = u.order_no AND c.field = ''is_listed'') AS h
         WHERE u.changed_at > now() - interval ''1 day'' AND h.observed_at > now() - interval ''1 day'') AS v');
END $migration$;
