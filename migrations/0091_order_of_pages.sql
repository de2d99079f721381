-- A page of an address list may be stored after a request that was made while the page was on its way: its addresses
-- counted as new since the request, and so as its answer where that was lost.
CREATE FUNCTION engine.newest_observation() RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$ SELECT CASE WHEN o.is_called THEN o.last_value ELSE 0 END FROM ledger.observations o $$;
--> statement-breakpoint
ALTER TABLE "ledger"."address_requests" ADD COLUMN "observation" bigint DEFAULT 0 NOT NULL;
--> statement-breakpoint
ALTER TABLE "ledger"."address_requests" ALTER COLUMN "observation" SET DEFAULT engine.newest_observation();
--> statement-breakpoint
COMMENT ON COLUMN ledger.address_requests.observation IS 'Internal: number of the newest request to the service when this one was stored: pages of lists with this or a lower number were asked for before. 0 for requests from before this was recorded';
COMMENT ON COLUMN ledger.addresses.after_request IS 'Internal: number of the newest address request when the page was asked for that first showed the address, or when an answer brought it; requests and addresses have an order without a clock. 0 for addresses from before this was recorded';
COMMENT ON FUNCTION engine.newest_observation IS 'Number of the newest request to the service, of all wallets; 0 before the first one';
--> statement-breakpoint
SELECT engine.make_own_views();
--> statement-breakpoint
SELECT engine.settle_rights();
