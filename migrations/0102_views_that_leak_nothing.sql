-- The views of ledger run with the rights of its owner and hide the rows of other wallets by a condition. A role that
-- sees one wallet could read the others through its own conditions, which may come first and fail on a hidden value.
-- A barrier keeps conditions outside of a view; it also keeps the planner from some quick ways, so only ledgers with
-- such roles have it.
CREATE FUNCTION engine.settle_barriers() RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  is_needed CONSTANT boolean := EXISTS (SELECT FROM engine.reader_wallets);
  v regclass;
BEGIN
  FOR v IN
    SELECT c.oid FROM pg_class c
     WHERE c.relkind = 'v' AND (c.relnamespace = 'ledger'::regnamespace OR c.oid = 'engine.wallet_names'::regclass)
       AND (coalesce(c.reloptions, '{}') @> '{security_barrier=true}') <> is_needed
  LOOP
    EXECUTE format('ALTER VIEW %s SET (security_barrier = %s)', v, CASE WHEN is_needed THEN 'true' ELSE 'false' END);
  END LOOP;
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION engine.settle_barriers IS 'Gives the views of ledger a barrier between their rows and the conditions of a reader while a role sees some wallets only';
--> statement-breakpoint
SELECT engine.settle_barriers();
--> statement-breakpoint
SELECT engine.settle_rights();
