-- A service that ignores the number generates more than was requested. These addresses are foreign, and counted for
-- nothing: POOL_MAX_PER_DAY did not stop it.
ALTER TABLE "ledger"."address_requests" ADD COLUMN "generated" integer;
--> statement-breakpoint
COMMENT ON COLUMN ledger.address_requests.generated IS 'Number of addresses that appeared with this request, those that did not join the pool included: the new ones of its answer or, if it was lost, those that the address list has shown since. POOL_MAX_PER_DAY counts it where it is above num. null: no answer, or a request from before this was recorded';
--> statement-breakpoint
SELECT engine.make_own_views();
--> statement-breakpoint
SELECT engine.settle_rights();
--> statement-breakpoint
DO $migration$
DECLARE
  definition text := pg_get_viewdef('ledger.pool_levels'::regclass);
  counted CONSTANT text := 'GREATEST(r.num, r.received)';
BEGIN
  ASSERT strpos(definition, counted) > 0, counted;
  EXECUTE 'CREATE OR REPLACE VIEW ledger.pool_levels AS ' || replace(definition, counted, 'GREATEST(r.num, r.received, r.generated)');
END $migration$;
--> statement-breakpoint
-- Replacing a view takes its barrier away.
SELECT engine.settle_barriers();
--> statement-breakpoint
-- An answer with a row that lacks a usable key may lack a balance or coin because it is that row: those that it does not
-- name stay listed, which nothing said.
DO $migration$
DECLARE
  definition text := pg_get_functiondef('engine.problems_of(text)'::regprocedure);
  words CONSTANT text := 'format(''%s %s could not be decoded'', count(*), CASE WHEN count(*) = 1 THEN ''value'' ELSE ''values'' END)';
BEGIN
  ASSERT strpos(definition, words) > 0, words;
  EXECUTE replace(definition, words, words || '
           || CASE WHEN count(*) FILTER (WHERE r.source IN (''balance-list'', ''coin-list'')
                                           AND (r.field IS NULL OR r.field IN (''slip44'', ''symbol'', ''contractAddress''))) > 0
                   THEN ''; because a balance or coin among them lacks a usable key, those that the service has stopped listing stay listed, with their last values''
                   ELSE '''' END');
END $migration$;
