DROP INDEX "ledger"."addresses_by_form";--> statement-breakpoint
CREATE INDEX "addresses_strange" ON "ledger"."addresses" USING btree ("slip44") WHERE "ledger"."addresses"."form" = 'strange';--> statement-breakpoint
-- The whole function in one piece, with one query instead of five before the update.
CREATE OR REPLACE FUNCTION engine.hand_out(slip44 integer, reference text, is_further boolean) RETURNS text
LANGUAGE plpgsql
SET enable_seqscan = off
SET enable_sort = off
AS $$
#variable_conflict use_column
DECLARE
  taken text;
  key text;
  number integer;
  is_home boolean;
  is_broken boolean;
  is_known boolean;
  is_good boolean;
  is_shared boolean;
  last_seen_at timestamptz;
  last_address text;
  passed_over text[] := '{}';
  has_lost boolean := false;
  holder record;
BEGIN
  -- As engine.bound_idle_time, without the cost of a call.
  IF current_setting('idle_in_transaction_session_timeout')::interval NOT BETWEEN interval '1 millisecond' AND interval '1 minute' THEN
    taken := set_config('idle_in_transaction_session_timeout', '1min', true);
  END IF;
  IF hand_out.slip44 IS NULL THEN
    RAISE EXCEPTION 'no chain is named: the first argument is its slip44 code' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  IF btrim(hand_out.reference, E' \t\r\n') = '' THEN
    RAISE EXCEPTION 'the reference is empty: name whom the address is for, or pass null for an address without one'
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  IF hand_out.is_further AND hand_out.reference IS NULL THEN
    RAISE EXCEPTION 'a further address needs a reference; without one each call of take_address gives another address'
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  -- Without a number the transaction has written nothing, and taken no address.
  IF pg_current_xact_id_if_assigned() IS NOT NULL THEN PERFORM engine.require_quota(hand_out.slip44); END IF;
  FOR attempt IN 1..20 LOOP
    -- One query reads all that the call depends on: to begin a query costs more than what it reads here.
    SELECT EXISTS (SELECT FROM engine.home h
                    WHERE h.id = 1 AND h.own_xid::text = current_setting('wallet_ledger.home', true) AND h.xmin = h.own_xid
                      AND h.tableoid = h.own_oid AND h.addresses_oid = 'ledger.addresses'::regclass AND h.disturbed_by IS NULL
                      AND CASE WHEN h.timeline IS NULL OR pg_is_in_recovery() THEN true
                               ELSE h.timeline = left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) END),
           EXISTS (SELECT FROM ledger.pools p WHERE p.slip44 = hand_out.slip44 AND p.chain_filter = 'broken'),
           own.address, own.assigned_no, own.is_known, own.refused IS NULL, last.first_seen_at, last.address
      INTO is_home, is_broken, taken, number, is_known, is_good, last_seen_at, last_address
      FROM (SELECT) one
      LEFT JOIN LATERAL (SELECT a.address, a.assigned_no, a.refused, true AS is_known FROM ledger.addresses a
                          WHERE a.slip44 = hand_out.slip44 AND a.assigned_to = hand_out.reference
                          ORDER BY a.assigned_no LIMIT 1) own ON true
      LEFT JOIN LATERAL (SELECT a.first_seen_at, a.address FROM ledger.addresses a
                          WHERE a.slip44 = hand_out.slip44 AND a.assigned_at IS NOT NULL
                          ORDER BY a.assigned_at DESC LIMIT 1) last ON true;
    IF NOT is_home THEN PERFORM engine.require_home(); END IF;
    IF is_known AND is_good AND number IS NOT NULL AND NOT hand_out.is_further THEN RETURN taken; END IF;
    IF is_known THEN
      -- The reference has further addresses, refused ones, or one that is kept for it because it has it on another chain.
      SELECT a.address INTO taken FROM ledger.addresses a
       WHERE NOT hand_out.is_further AND a.slip44 = hand_out.slip44 AND a.assigned_to = hand_out.reference
         AND a.refused IS NULL AND a.assigned_no IS NOT NULL
       ORDER BY a.assigned_no LIMIT 1;
      IF FOUND THEN RETURN taken; END IF;
      SELECT max(a.assigned_no), min(a.address_key) FILTER (WHERE a.assigned_no IS NULL AND a.refused IS NULL) INTO number, key
        FROM ledger.addresses a WHERE a.slip44 = hand_out.slip44 AND a.assigned_to = hand_out.reference;
      number := coalesce(number, 0) + 1;
      IF key IS NOT NULL AND NOT is_broken THEN
        BEGIN
          UPDATE ledger.addresses t SET assigned_no = number
           WHERE t.slip44 = hand_out.slip44 AND t.address_key = key AND t.assigned_to = hand_out.reference AND t.assigned_no IS NULL
          RETURNING t.address INTO taken;
          IF FOUND THEN RETURN taken; END IF;
        EXCEPTION WHEN unique_violation THEN
          NULL;
        END;
      END IF;
    ELSIF hand_out.reference IS NOT NULL THEN
      number := 1;
    END IF;
    EXIT WHEN is_broken;
    BEGIN
      key := NULL;
      UPDATE ledger.addresses t
         SET status = 'assigned', assigned_to = hand_out.reference, assigned_no = number, assigned_at = clock_timestamp(),
             assigned_xact = pg_current_xact_id()
       WHERE t.slip44 = hand_out.slip44
         AND t.address_key = coalesce(
           (SELECT a.address_key FROM ledger.addresses a
             WHERE a.slip44 = hand_out.slip44 AND a.status = 'available' AND a.address_key <> ALL (passed_over)
               AND (a.first_seen_at, a.address) > (last_seen_at, last_address)
             ORDER BY a.first_seen_at, a.address LIMIT 1 FOR UPDATE SKIP LOCKED),
           (SELECT a.address_key FROM ledger.addresses a
             WHERE a.slip44 = hand_out.slip44 AND a.status = 'available' AND a.address_key <> ALL (passed_over)
             ORDER BY a.first_seen_at, a.address LIMIT 1 FOR UPDATE SKIP LOCKED))
      RETURNING t.address, t.address_key,
                EXISTS (SELECT FROM ledger.addresses o WHERE o.address_key = t.address_key AND o.slip44 <> t.slip44)
           INTO taken, key, is_shared;
      IF FOUND AND NOT is_shared THEN RETURN taken; END IF;
      IF FOUND THEN
        PERFORM 1 FROM ledger.addresses o WHERE o.address_key = key AND o.slip44 <> hand_out.slip44 FOR UPDATE NOWAIT;
        SELECT min(o.assigned_to) AS assigned_to, min(o.assigned_at) AS assigned_at, count(*) AS rows,
               count(*) FILTER (WHERE o.assigned_to = hand_out.reference) AS own INTO holder
          FROM ledger.addresses o
         WHERE o.address_key = key AND o.slip44 <> hand_out.slip44 AND o.assigned_at IS NOT NULL;
        IF holder.rows = holder.own THEN
          UPDATE ledger.addresses o
             SET status = 'assigned', assigned_to = hand_out.reference, assigned_at = clock_timestamp()
           WHERE o.address_key = key AND o.slip44 <> hand_out.slip44 AND o.status = 'available';
          RETURN taken;
        END IF;
        -- Somebody else has it on another chain: here it is nobody else's either.
        UPDATE ledger.addresses t
           SET assigned_to = holder.assigned_to, assigned_no = NULL, assigned_at = holder.assigned_at
         WHERE t.slip44 = hand_out.slip44 AND t.address_key = key;
        CONTINUE;
      END IF;
      has_lost := false;
    EXCEPTION
      WHEN unique_violation THEN
        has_lost := true;
      WHEN lock_not_available THEN
        -- Not by a lock_timeout of the caller's own.
        IF key IS NULL THEN RAISE; END IF;
        passed_over := passed_over || key;
        CONTINUE;
    END;
    CONTINUE WHEN has_lost;
    EXIT WHEN NOT EXISTS (SELECT FROM ledger.addresses a
                           WHERE a.slip44 = hand_out.slip44 AND a.status = 'available');
    -- The last ones are in other hands, and may come back.
    passed_over := '{}';
    PERFORM pg_sleep(0.005 + random() * 0.01);
  END LOOP;
  -- Only where the call's snapshot is older than the other's success: repeatable read.
  IF has_lost THEN
    RAISE EXCEPTION 'another call took an address for the reference; run the transaction again'
      USING ERRCODE = 'serialization_failure';
  END IF;
  -- The last one may just have gone to another call with this reference.
  SELECT a.address INTO taken FROM ledger.addresses a
   WHERE NOT hand_out.is_further AND a.slip44 = hand_out.slip44 AND a.assigned_to = hand_out.reference AND a.assigned_no IS NOT NULL
     AND a.refused IS NULL ORDER BY a.assigned_no LIMIT 1;
  IF taken IS NULL AND NOT EXISTS (SELECT FROM ledger.pools p WHERE p.slip44 = hand_out.slip44)
     AND NOT EXISTS (SELECT FROM ledger.addresses a WHERE a.slip44 = hand_out.slip44) THEN
    RAISE EXCEPTION 'the chain % has neither a pool nor addresses: the first argument is a slip44 code of ADDRESS_POOLS', hand_out.slip44
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  IF taken IS NULL THEN PERFORM engine.note_null_take(hand_out.slip44); END IF;
  RETURN taken;
END $$;
