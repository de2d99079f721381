COMMENT ON COLUMN ledger.pools.chain_filter IS 'works: the address list was shown to honour the chain parameter; shared: it reads the parameter, and all chains list the same addresses, so only clear answers show which ones were generated for a chain; broken: it lists the same addresses for a chain that does not exist, or an address that only another chain can have, so nothing is generated or handed out; null: not known yet';
--> statement-breakpoint
-- Chains of one form may list the same addresses. What was generated for one of them is no sign of another generator on
-- the others, and neither is what a request for one of them may still bring.
CREATE OR REPLACE FUNCTION engine.notice_foreign(chain integer)
RETURNS void
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  strangers bigint;
BEGIN
  SELECT count(*) INTO strangers
    FROM own.addresses a
   WHERE a.slip44 = chain AND a.status = 'foreign' AND a.generated_by IS NULL AND a.set_aside_epoch IS NULL
     AND a.first_seen_at > (SELECT min(p.observed_at) FROM own.stream_proofs p, engine.home h
                             WHERE p.name = 'addresses:' || chain AND p.is_complete AND p.observed_at >= h.begun_at)
     AND NOT EXISTS (SELECT FROM own.addresses o
                      WHERE o.address_key = a.address_key AND o.slip44 <> chain AND o.generated_by IS NOT NULL)
     AND NOT EXISTS (SELECT FROM own.address_requests r
                      WHERE (r.state <> 'done' OR r.received IS DISTINCT FROM r.num)
                        AND r.requested_at < a.first_seen_at AND r.requested_at > a.first_seen_at - interval '24 hours'
                        AND (r.slip44 = chain OR r.state IN ('sent', 'unknown')
                             OR EXISTS (SELECT FROM own.addresses x JOIN own.addresses y ON y.address_key = x.address_key
                                         WHERE x.slip44 = chain AND y.slip44 = r.slip44)));
  IF strangers > 0 THEN
    PERFORM engine.disturb_home(format('the service lists %s addresses of chain %s that were generated elsewhere', strangers, chain));
  END IF;
END $$;
