-- What counts and what needs a person: a deposit that the service no longer lists does not count, and so uses no
-- address; details that the service refuses are a problem; a final state that came back is none, and neither is an
-- address list that shows new addresses a little later.
ALTER TABLE "engine"."detail_checks" ADD COLUMN "refused_since" timestamp with time zone;
--> statement-breakpoint
ALTER TABLE "engine"."detail_checks" ADD COLUMN "refused_at" timestamp with time zone;
--> statement-breakpoint
COMMENT ON COLUMN engine.detail_checks.refused_since IS 'When the service first gave no detail, of the refusals that are counted; null: it has not refused';
COMMENT ON COLUMN engine.detail_checks.refused_at IS 'When the service last gave no detail';
--> statement-breakpoint
UPDATE engine.detail_checks SET refused_since = now(), refused_at = now() WHERE refusals > 0;
--> statement-breakpoint
SELECT engine.make_own_views();
--> statement-breakpoint
DO $migration$
DECLARE
  recount text := pg_get_functiondef('engine.recount_use(text, text[])'::regprocedure);
  changed text := pg_get_functiondef('engine.note_changed_deposit()'::regprocedure);
  inserted text := pg_get_functiondef('engine.note_deposits()'::regprocedure);
  counting CONSTANT text := 'EXISTS (SELECT FROM ledger.final_states f';
BEGIN
  ASSERT strpos(recount, counting) > 0 AND strpos(changed, 'AND ' || counting) > 0;
  EXECUTE replace(recount, counting, 'x.is_listed AND ' || counting);
  EXECUTE replace(changed, 'AND ' || counting, 'AND NEW.is_listed AND ' || counting);
  ASSERT strpos(inserted, 'f.state IS NOT NULL AS counts') > 0 AND strpos(inserted, 'f.state IS NOT NULL DESC') > 0;
  inserted := replace(inserted, 'f.state IS NOT NULL AS counts', 'x.is_listed AND f.state IS NOT NULL AS counts');
  EXECUTE replace(inserted, 'f.state IS NOT NULL DESC', 'x.is_listed AND f.state IS NOT NULL DESC');
END $migration$;
--> statement-breakpoint
CREATE OR REPLACE TRIGGER transactions_deposit_changed
  AFTER UPDATE ON ledger.transactions
  FOR EACH ROW
  WHEN ((OLD.stream = 'deposit' OR NEW.stream = 'deposit')
        AND (OLD.state IS DISTINCT FROM NEW.state OR OLD.to_address IS DISTINCT FROM NEW.to_address
             OR OLD.occurred_at IS DISTINCT FROM NEW.occurred_at OR OLD.stream <> NEW.stream
             OR OLD.wallet <> NEW.wallet OR OLD.is_listed <> NEW.is_listed))
  EXECUTE FUNCTION engine.note_changed_deposit();
--> statement-breakpoint
SELECT engine.recount_use(t.wallet, array_agg(DISTINCT ledger.address_key(t.to_address)))
  FROM ledger.transactions t
 WHERE NOT t.is_listed AND t.stream = 'deposit' AND t.to_address IS NOT NULL
 GROUP BY t.wallet;
--> statement-breakpoint
DO $migration$
DECLARE
  definition text := pg_get_functiondef('engine.problems_of(text)'::regprocedure);
  piece text;
BEGIN
  piece := '      (''job_failing'', ';
  ASSERT strpos(definition, piece) > 0, piece;
  definition := replace(definition, piece,
    '      (''details_refused'', ''warning'', ''ask the operator of the service; `select order_no from ledger.waiting_details where refusals >= 5` names the rows, whose details are asked for again'')'
    || E',\n' || piece);

  piece := 'AND (u.is_known_difference OR NOT u.was_proven OR u.unproven_since < now() - u.patience)';
  ASSERT strpos(definition, piece) > 0, piece;
  definition := replace(definition, piece,
    'AND (u.unproven_since < now() - u.patience
            OR CASE WHEN u.is_known_difference THEN NOT u.is_address_list ELSE NOT u.was_proven END)');

  piece := '      LEFT JOIN own.final_states n ON n.state = lower(btrim(c.new_value))
     WHERE (SELECT sum(s.final_changes) > 0 FROM own.streams s) AND c.field = ''state''
       AND c.observed_at > now() - interval ''7 days'' AND n.is_success IS DISTINCT FROM f.is_success
    HAVING count(*) > 0
';
  ASSERT strpos(definition, piece) > 0, piece;
  definition := replace(definition, piece,
'      JOIN own.transactions t ON t.order_no = c.order_no
      LEFT JOIN own.final_states n ON n.state = lower(btrim(t.state))
     WHERE (SELECT sum(s.final_changes) > 0 FROM own.streams s) AND c.field = ''state''
       AND c.observed_at > now() - interval ''7 days'' AND n.is_success IS DISTINCT FROM f.is_success
       -- A detail may come from a server that lags behind that of the list.
       AND (n.state IS NOT NULL OR c.observed_at < now() - interval ''1 minute'')
    HAVING count(*) > 0
    UNION ALL
    SELECT ''details_refused'', NULL, min(d.refused_since),
           format(''the service gives no detail of %s %s that it lists'', count(*), CASE WHEN count(*) = 1 THEN ''row'' ELSE ''rows'' END)
      FROM own.detail_checks d WHERE d.turn = 3 AND d.refusals >= 5 HAVING count(*) > 0
');
  EXECUTE definition;
END $migration$;
