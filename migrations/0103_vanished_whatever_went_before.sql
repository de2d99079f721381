CREATE INDEX "transactions_unlisted_changed_at" ON "ledger"."transactions" USING btree ("wallet","stream","changed_at") WHERE not "ledger"."transactions"."is_listed";
--> statement-breakpoint
-- A thousand rows that vanished days ago hid those of today if their time was later or missing. The problem now takes
-- the rows of the day first. The index keeps that fast among a million unlisted rows.
DO $migration$
DECLARE
  definition text := pg_get_functiondef('engine.problems_of(text)'::regprocedure);
  piece CONSTANT text := '        SELECT count(*) AS rows, min(h.observed_at) AS since
          FROM (SELECT t.order_no, t.changed_at FROM own.transactions t
                 WHERE t.stream = l.name AND NOT t.is_listed ORDER BY t.occurred_at DESC LIMIT 1000) AS u
         CROSS JOIN LATERAL (
            SELECT max(c.observed_at) AS observed_at FROM own.transaction_changes c
             WHERE c.order_no = u.order_no AND c.field = ''is_listed'') AS h
         WHERE u.changed_at > now() - interval ''1 day'' AND h.observed_at > now() - interval ''1 day'') AS v';
BEGIN
  ASSERT strpos(definition, piece) > 0, piece;
  EXECUTE replace(definition, piece,
'        SELECT count(*) AS rows, min(u.observed_at) AS since
          FROM (SELECT h.observed_at FROM own.transactions t
                 CROSS JOIN LATERAL (
                    SELECT max(c.observed_at) AS observed_at FROM own.transaction_changes c
                     WHERE c.order_no = t.order_no AND c.field = ''is_listed'') AS h
                 WHERE t.stream = l.name AND NOT t.is_listed
                   AND t.changed_at > now() - interval ''1 day'' AND h.observed_at > now() - interval ''1 day''
                 LIMIT 1000) AS u) AS v');
END $migration$;
