-- A reference that several wallets know names no deposit of one of them. A role that reads the feed may not read the
-- addresses, so it asks here.
CREATE FUNCTION ledger.wallets_of_reference(reference text) RETURNS text[]
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off
AS $$
  -- One probe of the index for each wallet and chain, and one for the reference there.
  WITH RECURSIVE known (wallet, slip44) AS (
    (SELECT a.wallet, a.slip44 FROM ledger.addresses a ORDER BY a.wallet, a.slip44 LIMIT 1)
    UNION ALL
    SELECT n.wallet, n.slip44
      FROM known k
     CROSS JOIN LATERAL (
        SELECT a.wallet, a.slip44 FROM ledger.addresses a
         WHERE (a.wallet, a.slip44) > (k.wallet, k.slip44) ORDER BY a.wallet, a.slip44 LIMIT 1) AS n)
  SELECT coalesce(array_agg(DISTINCT k.wallet ORDER BY k.wallet), '{}') FROM known k
   WHERE (SELECT true FROM ledger.addresses a
           WHERE a.wallet = k.wallet AND a.slip44 = k.slip44 AND a.assigned_to = $1 LIMIT 1)
$$;
--> statement-breakpoint
COMMENT ON FUNCTION ledger.wallets_of_reference(text) IS 'Wallets with an address that was handed out for the reference, for roles that read the feed';
--> statement-breakpoint
DO $grants$
DECLARE
  g record;
BEGIN
  FOR g IN
    SELECT DISTINCT a.grantee::regrole AS grantee
      FROM pg_proc p CROSS JOIN aclexplode(p.proacl) a
     WHERE p.oid = 'ledger.events_head()'::regprocedure AND a.privilege_type = 'EXECUTE' AND a.grantee NOT IN (0, p.proowner)
  LOOP
    EXECUTE format('GRANT EXECUTE ON FUNCTION ledger.wallets_of_reference(text) TO %s', g.grantee);
  END LOOP;
END $grants$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION ledger.contract_version() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT '1.5' $$;
--> statement-breakpoint
-- At most no event is none.
DO $migration$
DECLARE
  definition text := pg_get_functiondef('ledger.next_events(text, integer)'::regprocedure);
  piece text := $sql$LIMIT greatest(1, $sql$;
BEGIN
  ASSERT strpos(definition, piece) > 0, piece;
  EXECUTE replace(definition, piece, $sql$LIMIT greatest(0, $sql$);
END $migration$;
--> statement-breakpoint
COMMENT ON FUNCTION ledger.next_events IS 'Returns the events behind the consumer''s position, oldest first: at most max, and at most 10,000. The consumer is locked until the transaction ends, so that two workers of it never get the same events. A name belongs to the role that first uses it. Fails with WL002 when the database went back behind the position, with WL003 when the next events have been deleted';
--> statement-breakpoint
SELECT engine.settle_rights();
