CREATE TABLE "engine"."null_takes" (
	"slip44" integer NOT NULL,
	"taken_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "ledger"."addresses" ADD COLUMN "assigned_xact" "xid8";--> statement-breakpoint
CREATE INDEX "null_takes_taken_at" ON "engine"."null_takes" USING btree ("slip44","taken_at");
--> statement-breakpoint
-- A role that may only take addresses holds back no more of a pool in one transaction than this. Whoever may write the
-- addresses anyway is not bounded. Rows of the transaction are found by the index on assigned_at.
CREATE FUNCTION engine.require_quota(slip44 integer) RETURNS void
LANGUAGE plpgsql
SET enable_seqscan = off
AS $$
#variable_conflict use_column
DECLARE
  quota integer;
BEGIN
  -- Nothing was taken: a transaction without writes has no number.
  IF pg_current_xact_id_if_assigned() IS NULL OR has_table_privilege(session_user, 'ledger.addresses', 'UPDATE') THEN RETURN; END IF;
  SELECT greatest(10, least(100, p.target / 2)) INTO quota FROM ledger.pools p WHERE p.slip44 = require_quota.slip44;
  quota := coalesce(quota, 100);
  IF (SELECT count(*) FROM ledger.addresses a
       WHERE a.slip44 = require_quota.slip44 AND a.assigned_at >= transaction_timestamp()
         AND a.assigned_xact = pg_current_xact_id()) >= quota THEN
    RAISE EXCEPTION 'this transaction has taken % addresses of chain %, as many as one may hold', quota, require_quota.slip44
      USING ERRCODE = 'program_limit_exceeded', HINT = 'commit after each address: until then nobody else gets any of them';
  END IF;
END $$;
--> statement-breakpoint
-- Nobody waits for another's row here: old rows are deleted where they are free.
CREATE FUNCTION engine.note_null_take(slip44 integer) RETURNS void
LANGUAGE plpgsql
AS $$
#variable_conflict use_column
BEGIN
  IF EXISTS (SELECT FROM ledger.pools p WHERE p.slip44 = note_null_take.slip44 AND p.chain_filter = 'broken')
     OR NOT EXISTS (SELECT FROM ledger.addresses a WHERE a.slip44 = note_null_take.slip44 AND a.status = 'available')
     OR EXISTS (SELECT FROM engine.null_takes n WHERE n.slip44 = note_null_take.slip44 AND n.taken_at > now() - interval '5 seconds')
  THEN RETURN; END IF;
  INSERT INTO engine.null_takes (slip44, taken_at) VALUES (note_null_take.slip44, clock_timestamp());
  DELETE FROM engine.null_takes t
   WHERE t.ctid = ANY (ARRAY(SELECT n.ctid FROM engine.null_takes n WHERE n.taken_at < now() - interval '1 hour' FOR UPDATE SKIP LOCKED));
END $$;
--> statement-breakpoint
DO $bounded$
DECLARE
  definition text := pg_get_functiondef('engine.hand_out(integer, text, boolean)'::regprocedure);
  patched text;
  part record;
BEGIN
  FOR part IN
    SELECT * FROM (VALUES
      ('  FOR attempt IN 1..20 LOOP', '  PERFORM engine.require_quota(hand_out.slip44);
  FOR attempt IN 1..20 LOOP'),
      ('assigned_no = number, assigned_at = clock_timestamp()',
       'assigned_no = number, assigned_at = clock_timestamp(), assigned_xact = pg_current_xact_id()'),
      ('  RETURN taken;
END ', '  IF taken IS NULL THEN PERFORM engine.note_null_take(hand_out.slip44); END IF;
  RETURN taken;
END ')) AS p (before, after)
  LOOP
    patched := replace(definition, part.before, part.after);
    IF patched = definition THEN
      RAISE EXCEPTION 'engine.hand_out has no %', part.before;
    END IF;
    definition := patched;
  END LOOP;
  EXECUTE definition;
END $bounded$;
--> statement-breakpoint
-- Between two calls that got nothing nobody got anything either, for ten seconds: that is no crowd at an empty pool.
DO $problems$
BEGIN
  EXECUTE format($view$
CREATE OR REPLACE VIEW ledger.problems AS
SELECT p.name, p.severity, p.since, p.what, p.cure
  FROM (SELECT o.* FROM (%s) AS o
        UNION ALL
        SELECT 'pool_withheld', 'critical', n.since,
               'chain ' || n.slip44 || ' has addresses that are available, and take_address gave none: an open transaction holds them',
               'find the transaction: `select pid, usename, application_name, xact_start from pg_stat_activity where xact_start is not null order by xact_start`; end it with pg_terminate_backend(pid)'
          FROM (SELECT t.slip44, min(t.taken_at) AS since FROM engine.null_takes t
                 WHERE t.taken_at > now() - interval '5 minutes'
                   AND NOT EXISTS (SELECT FROM ledger.addresses a WHERE a.slip44 = t.slip44 AND a.assigned_at > t.taken_at)
                 GROUP BY t.slip44
                HAVING max(t.taken_at) - min(t.taken_at) >= interval '10 seconds') AS n
         WHERE EXISTS (SELECT FROM ledger.addresses a WHERE a.slip44 = n.slip44 AND a.status = 'available')) AS p
 ORDER BY p.severity, p.since, p.what$view$, rtrim(pg_get_viewdef('ledger.problems'::regclass), ';'));
END $problems$;
--> statement-breakpoint
COMMENT ON COLUMN ledger.addresses.assigned_xact IS 'The program''s own: number of the transaction that took the address, for the quota of issuers';
COMMENT ON TABLE engine.null_takes IS 'Calls of take_address that got nothing although addresses were available; kept for an hour';
COMMENT ON COLUMN engine.null_takes.slip44 IS 'slip44 code of the chain';
COMMENT ON COLUMN engine.null_takes.taken_at IS 'When it was called';
COMMENT ON FUNCTION engine.require_quota IS 'Fails when the transaction has taken as many addresses of the chain as a role that may only take addresses may hold: half of the pool''s target, 10 at least and 100 at the most';
COMMENT ON FUNCTION engine.note_null_take IS 'Keeps that take_address gave nothing while addresses were available';
--> statement-breakpoint
SELECT engine.settle_rights();
