CREATE FUNCTION engine.newest_request() RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$ SELECT CASE WHEN s.is_called THEN s.last_value ELSE 0 END FROM ledger.address_requests_id_seq s $$;
--> statement-breakpoint
ALTER TABLE "ledger"."addresses" ADD COLUMN "after_request" bigint DEFAULT 0 NOT NULL;
--> statement-breakpoint
UPDATE ledger.addresses a SET after_request = r.id
  FROM ledger.address_requests r
 WHERE r.wallet = a.wallet AND r.slip44 = a.slip44 AND r.state IN ('sent', 'unknown')
   AND a.generated_by IS NULL AND a.first_seen_at > r.requested_at;
--> statement-breakpoint
ALTER TABLE "ledger"."addresses" ALTER COLUMN "after_request" SET DEFAULT engine.newest_request();
--> statement-breakpoint
-- A publication of all tables refuses updates and deletes of a table without a key.
ALTER TABLE engine.total_changes REPLICA IDENTITY FULL;
ALTER TABLE engine.null_takes REPLICA IDENTITY FULL;
--> statement-breakpoint
-- A caller whose commits do not wait for the disk would lose in a crash of the server what it has received. Part of the
-- expression that is evaluated anyway: it is never true, and so leaves the outcome to the others.
DO $hand_out$
DECLARE
  definition CONSTANT text := pg_get_functiondef('engine.hand_out(text, integer, text, boolean)'::regprocedure);
  rare CONSTANT text := 'IF hand_out.slip44 IS NULL OR btrim(';
BEGIN
  IF position(rare IN definition) = 0 THEN
    RAISE EXCEPTION 'engine.hand_out is not the one that this migration changes';
  END IF;
  EXECUTE replace(definition, rare,
    'IF current_setting(''synchronous_commit'') = ''off'' AND set_config(''synchronous_commit'', ''on'', true) IS NULL
     OR hand_out.slip44 IS NULL OR btrim(');
END $hand_out$;
--> statement-breakpoint
COMMENT ON COLUMN ledger.addresses.after_request IS 'Internal: number of the newest address request when the address was first seen; requests and addresses have an order without a clock. 0 for addresses from before this was recorded';
COMMENT ON FUNCTION engine.newest_request IS 'Number of the newest address request of all wallets; 0 before the first one';
--> statement-breakpoint
SELECT engine.make_own_views();
--> statement-breakpoint
SELECT engine.settle_rights();
