-- The oldest available address, going on behind the one that was handed out last: what was handed out leaves dead
-- index entries behind, and they are not walked through again and again. When none is left behind it, from the start.
-- Rows that another call holds are passed over; that of two calls with one new reference loses on the unique index
-- addresses_assigned_to, gives its row back and finds the other's address. Two settings keep the plan on the indexes,
-- whatever the statistics say.
CREATE FUNCTION ledger.take_address(slip44 integer, reference text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_sort = off
AS $$
#variable_conflict use_column
DECLARE
  taken text;
  last_seen_at timestamptz;
  last_address text;
  has_lost boolean := false;
BEGIN
  FOR attempt IN 1..20 LOOP
    IF take_address.reference IS NOT NULL THEN
      SELECT a.address INTO taken FROM ledger.addresses a
       WHERE a.slip44 = take_address.slip44 AND a.assigned_to = take_address.reference;
      IF FOUND THEN RETURN taken; END IF;
    END IF;
    SELECT a.first_seen_at, a.address INTO last_seen_at, last_address FROM ledger.addresses a
     WHERE a.slip44 = take_address.slip44 AND a.assigned_at IS NOT NULL
     ORDER BY a.assigned_at DESC LIMIT 1;
    BEGIN
      UPDATE ledger.addresses t
         SET status = 'assigned', assigned_to = take_address.reference, assigned_at = clock_timestamp()
       WHERE t.slip44 = take_address.slip44
         AND t.address = coalesce(
           (SELECT a.address FROM ledger.addresses a
             WHERE a.slip44 = take_address.slip44 AND a.status = 'available'
               AND (a.first_seen_at, a.address) > (last_seen_at, last_address)
             ORDER BY a.first_seen_at, a.address LIMIT 1 FOR UPDATE SKIP LOCKED),
           (SELECT a.address FROM ledger.addresses a
             WHERE a.slip44 = take_address.slip44 AND a.status = 'available'
             ORDER BY a.first_seen_at, a.address LIMIT 1 FOR UPDATE SKIP LOCKED))
      RETURNING t.address INTO taken;
      IF FOUND THEN RETURN taken; END IF;
      has_lost := false;
    EXCEPTION WHEN unique_violation THEN
      has_lost := true;
    END;
    CONTINUE WHEN has_lost;
    EXIT WHEN NOT EXISTS (SELECT FROM ledger.addresses a
                           WHERE a.slip44 = take_address.slip44 AND a.status = 'available');
    -- The last ones are in other hands, and may come back.
    PERFORM pg_sleep(0.01);
  END LOOP;
  -- Only where the call's snapshot is older than the other's success: repeatable read.
  IF has_lost THEN
    RAISE EXCEPTION 'another call took an address for the reference; run the transaction again'
      USING ERRCODE = 'serialization_failure';
  END IF;
  -- The last one may just have gone to another call with this reference.
  SELECT a.address INTO taken FROM ledger.addresses a
   WHERE a.slip44 = take_address.slip44 AND a.assigned_to = take_address.reference;
  RETURN taken;
END $$;
--> statement-breakpoint
REVOKE EXECUTE ON FUNCTION ledger.take_address FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION ledger.take_tickets FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION ledger.pause_requests FROM PUBLIC;
--> statement-breakpoint
-- The chains of ledger.addresses cost one index probe each, and columns that nobody asks for are not counted.
CREATE VIEW ledger.pool_levels AS
WITH RECURSIVE known (slip44) AS (
  SELECT min(a.slip44) FROM ledger.addresses a
  UNION ALL
  SELECT (SELECT min(a.slip44) FROM ledger.addresses a WHERE a.slip44 > k.slip44) FROM known k WHERE k.slip44 IS NOT NULL
),
chains AS (
  SELECT slip44 FROM known WHERE slip44 IS NOT NULL
  UNION
  SELECT slip44 FROM ledger.pools
)
SELECT c.slip44,
       (SELECT count(*) FROM ledger.addresses a WHERE a.slip44 = c.slip44 AND a.status = 'available') AS available,
       (SELECT count(*) FROM ledger.addresses a WHERE a.slip44 = c.slip44 AND a.status = 'assigned') AS assigned,
       (SELECT count(*) FROM ledger.addresses a WHERE a.slip44 = c.slip44 AND a.status = 'used') AS used,
       p.threshold,
       p.target,
       (SELECT coalesce(sum(coalesce(r.received, r.num)), 0)
          FROM ledger.address_requests r
         WHERE r.slip44 = c.slip44
           AND (r.state IN ('sent', 'unknown')
             OR r.state = 'done' AND r.requested_at > now() - interval '24 hours')) AS generated_24h,
       (SELECT round(
                 (SELECT count(*) FROM ledger.addresses a WHERE a.slip44 = c.slip44 AND a.status = 'available')
                   * 7.0 / nullif(count(*), 0), 1)
          FROM ledger.addresses u
         WHERE u.slip44 = c.slip44 AND u.assigned_at > now() - interval '7 days') AS days_left
  FROM chains c
  LEFT JOIN ledger.pools p ON p.slip44 = c.slip44;
--> statement-breakpoint
COMMENT ON FUNCTION ledger.take_address IS 'Hands out an available address of the chain, never one address to two callers; the same reference gets the same address again, without a reference each call another one; null when the pool is empty';
COMMENT ON TABLE ledger.pools IS 'The address pools that are kept full (ADDRESS_POOLS), and how filling each one goes';
COMMENT ON COLUMN ledger.pools.slip44 IS 'slip44 code of the chain';
COMMENT ON COLUMN ledger.pools.threshold IS 'Below so many available addresses the pool is filled';
COMMENT ON COLUMN ledger.pools.target IS 'Up to so many available addresses';
COMMENT ON COLUMN ledger.pools.is_filling IS 'The threshold was crossed and the target is not reached yet';
COMMENT ON COLUMN ledger.pools.refusals IS 'Requests in a row that the service refused';
COMMENT ON COLUMN ledger.pools.next_try_at IS 'Not before this moment the service is asked again; null when nothing holds it back';
COMMENT ON COLUMN ledger.pools.num_max IS 'Most addresses to ask for at once; halved when the service refuses the number';
COMMENT ON COLUMN ledger.pools.last_error IS 'Why the pool could not be filled, in the service''s own words where it refused; null when all is well';
COMMENT ON COLUMN ledger.pools.last_error_at IS 'When that was';
COMMENT ON COLUMN ledger.address_requests.owner IS 'The process that sent it, named as its connections are';
COMMENT ON COLUMN ledger.address_requests.list_read_at IS 'When the address list was first read to its end after the answer was lost';
COMMENT ON VIEW ledger.pool_levels IS 'How full the address pool of each chain is, and how long it will last';
COMMENT ON COLUMN ledger.pool_levels.slip44 IS 'slip44 code of the chain';
COMMENT ON COLUMN ledger.pool_levels.available IS 'Addresses that can be handed out';
COMMENT ON COLUMN ledger.pool_levels.assigned IS 'Addresses handed out that no deposit has reached yet';
COMMENT ON COLUMN ledger.pool_levels.used IS 'Addresses that have received a deposit';
COMMENT ON COLUMN ledger.pool_levels.threshold IS 'Below so many available addresses the pool is filled; null where no pool is configured';
COMMENT ON COLUMN ledger.pool_levels.target IS 'Up to so many available addresses; null where no pool is configured';
COMMENT ON COLUMN ledger.pool_levels.generated_24h IS 'Addresses that requests of the last 24 hours brought, and those an open request asks for: what POOL_MAX_PER_DAY limits';
COMMENT ON COLUMN ledger.pool_levels.days_left IS 'Available addresses divided by the addresses handed out per day over the last 7 days; null when none were';
