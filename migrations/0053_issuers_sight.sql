-- An issuer sees the addresses that it took.
ALTER TABLE ledger.addresses ADD COLUMN assigned_by text;
--> statement-breakpoint
COMMENT ON COLUMN ledger.addresses.assigned_by IS 'Role that took the address with take_address; null for addresses that were taken before the ledger kept it';
--> statement-breakpoint
CREATE FUNCTION engine.calling_role() RETURNS text
LANGUAGE sql STABLE
RETURN CASE current_setting('role') WHEN 'none' THEN session_user::text ELSE current_setting('role') END;
--> statement-breakpoint
COMMENT ON FUNCTION engine.calling_role IS 'Role of the session, also inside functions that run with the rights of their owner';
--> statement-breakpoint
CREATE OR REPLACE FUNCTION engine.hand_out(wallet text, slip44 integer, reference text, is_further boolean)
 RETURNS text
 LANGUAGE plpgsql
AS $function$
#variable_conflict use_column
DECLARE
  taken text;
  key text;
  number integer;
  is_good boolean;
  is_shared boolean;
  passed_over text[] := '{}';
  has_lost boolean := false;
  holder record;
BEGIN
  -- What is rare, in one expression: each expression is made ready anew in each transaction. A transaction without a
  -- number has written nothing, and so taken no address.
  IF hand_out.slip44 IS NULL OR btrim(hand_out.reference, E' \t\r\n') = '' OR hand_out.is_further
     OR pg_current_xact_id_if_assigned() IS NOT NULL OR current_setting('idle_in_transaction_session_timeout') <> '1min' THEN
    PERFORM engine.admit_take(hand_out.wallet, hand_out.slip44, hand_out.reference, hand_out.is_further);
  END IF;
  FOR attempt IN 1..20 LOOP
    IF hand_out.reference IS NOT NULL THEN
      SELECT a.address, a.assigned_no, a.refused IS NULL INTO taken, number, is_good FROM ledger.addresses a
       WHERE a.wallet = hand_out.wallet AND a.slip44 = hand_out.slip44 AND a.assigned_to = hand_out.reference
       ORDER BY a.assigned_no LIMIT 1;
      IF FOUND THEN
        PERFORM FROM engine.own_place o WHERE o.addresses_oid = 'ledger.addresses'::regclass;
        IF NOT FOUND THEN PERFORM engine.require_home(); END IF;
        IF is_good AND number IS NOT NULL AND NOT hand_out.is_further THEN RETURN taken; END IF;
        -- The reference has further addresses, refused ones, or one that is kept for it because it has it on another chain.
        SELECT a.address INTO taken FROM ledger.addresses a
         WHERE NOT hand_out.is_further AND a.wallet = hand_out.wallet AND a.slip44 = hand_out.slip44 AND a.assigned_to = hand_out.reference
           AND a.refused IS NULL AND a.assigned_no IS NOT NULL
         ORDER BY a.assigned_no LIMIT 1;
        IF FOUND THEN RETURN taken; END IF;
        SELECT max(a.assigned_no), min(a.address_key) FILTER (WHERE a.assigned_no IS NULL AND a.refused IS NULL) INTO number, key
          FROM ledger.addresses a WHERE a.wallet = hand_out.wallet AND a.slip44 = hand_out.slip44 AND a.assigned_to = hand_out.reference;
        number := coalesce(number, 0) + 1;
        IF key IS NOT NULL THEN
          BEGIN
            UPDATE ledger.addresses t SET assigned_no = number
             WHERE t.wallet = hand_out.wallet AND t.slip44 = hand_out.slip44 AND t.address_key = key
               AND t.assigned_to = hand_out.reference AND t.assigned_no IS NULL
               AND NOT EXISTS (SELECT FROM ledger.pools p
                                WHERE p.wallet = hand_out.wallet AND p.slip44 = hand_out.slip44 AND p.chain_filter = 'broken')
            RETURNING t.address INTO taken;
            IF FOUND THEN RETURN taken; END IF;
          EXCEPTION WHEN unique_violation THEN
            NULL;
          END;
        END IF;
      ELSE
        number := 1;
      END IF;
    END IF;
    BEGIN
      key := NULL;
      -- Home and chain are part of the statement: neither costs a statement of its own, nor can change before it.
      UPDATE ledger.addresses t
         SET status = 'assigned', assigned_to = hand_out.reference, assigned_no = number, assigned_at = clock_timestamp(),
             assigned_xact = pg_current_xact_id(), assigned_by = engine.calling_role()
       WHERE t.wallet = hand_out.wallet AND t.slip44 = hand_out.slip44
         AND EXISTS (SELECT FROM engine.own_place o WHERE o.addresses_oid = 'ledger.addresses'::regclass)
         AND NOT EXISTS (SELECT FROM ledger.pools p WHERE p.wallet = hand_out.wallet AND p.slip44 = hand_out.slip44 AND p.chain_filter = 'broken')
         AND t.address_key = coalesce(
           (SELECT a.address_key FROM ledger.addresses a
             WHERE a.wallet = hand_out.wallet AND a.slip44 = hand_out.slip44 AND a.status = 'available' AND a.address_key <> ALL (passed_over)
               AND (a.first_seen_at, a.address) > (SELECT l.first_seen_at, l.address FROM ledger.addresses l
                                                    WHERE l.wallet = hand_out.wallet AND l.slip44 = hand_out.slip44 AND l.assigned_at IS NOT NULL
                                                    ORDER BY l.assigned_at DESC LIMIT 1)
             ORDER BY a.first_seen_at, a.address LIMIT 1 FOR UPDATE SKIP LOCKED),
           (SELECT a.address_key FROM ledger.addresses a
             WHERE a.wallet = hand_out.wallet AND a.slip44 = hand_out.slip44 AND a.status = 'available' AND a.address_key <> ALL (passed_over)
             ORDER BY a.first_seen_at, a.address LIMIT 1 FOR UPDATE SKIP LOCKED))
      RETURNING t.address, t.address_key,
                EXISTS (SELECT FROM ledger.addresses o WHERE o.wallet = t.wallet AND o.address_key = t.address_key AND o.slip44 <> t.slip44)
           INTO taken, key, is_shared;
      IF FOUND AND NOT is_shared THEN RETURN taken; END IF;
      IF FOUND THEN
        PERFORM 1 FROM ledger.addresses o WHERE o.wallet = hand_out.wallet AND o.address_key = key AND o.slip44 <> hand_out.slip44 FOR UPDATE NOWAIT;
        SELECT min(o.assigned_to) AS assigned_to, min(o.assigned_at) AS assigned_at, min(o.assigned_by) AS assigned_by, count(*) AS rows,
               count(*) FILTER (WHERE o.assigned_to = hand_out.reference) AS own INTO holder
          FROM ledger.addresses o
         WHERE o.wallet = hand_out.wallet AND o.address_key = key AND o.slip44 <> hand_out.slip44 AND o.assigned_at IS NOT NULL;
        IF holder.rows = holder.own THEN
          UPDATE ledger.addresses o
             SET status = 'assigned', assigned_to = hand_out.reference, assigned_at = clock_timestamp(), assigned_by = engine.calling_role()
           WHERE o.wallet = hand_out.wallet AND o.address_key = key AND o.slip44 <> hand_out.slip44 AND o.status = 'available';
          RETURN taken;
        END IF;
        -- Somebody else has it on another chain: here it is nobody else's either.
        UPDATE ledger.addresses t
           SET assigned_to = holder.assigned_to, assigned_no = NULL, assigned_at = holder.assigned_at,
               assigned_by = holder.assigned_by
         WHERE t.wallet = hand_out.wallet AND t.slip44 = hand_out.slip44 AND t.address_key = key;
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
    PERFORM FROM engine.own_place o WHERE o.addresses_oid = 'ledger.addresses'::regclass;
    IF NOT FOUND THEN
      -- The session's first call, which asks for all facts, or a move.
      PERFORM engine.require_home();
      CONTINUE;
    END IF;
    EXIT WHEN NOT EXISTS (SELECT FROM ledger.addresses a WHERE a.wallet = hand_out.wallet AND a.slip44 = hand_out.slip44 AND a.status = 'available')
           OR EXISTS (SELECT FROM ledger.pools p WHERE p.wallet = hand_out.wallet AND p.slip44 = hand_out.slip44 AND p.chain_filter = 'broken');
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
   WHERE NOT hand_out.is_further AND a.wallet = hand_out.wallet AND a.slip44 = hand_out.slip44 AND a.assigned_to = hand_out.reference
     AND a.assigned_no IS NOT NULL AND a.refused IS NULL ORDER BY a.assigned_no LIMIT 1;
  IF taken IS NULL AND NOT EXISTS (SELECT FROM ledger.pools p WHERE p.wallet = hand_out.wallet AND p.slip44 = hand_out.slip44)
     AND NOT EXISTS (SELECT FROM ledger.addresses a WHERE a.wallet = hand_out.wallet AND a.slip44 = hand_out.slip44) THEN
    PERFORM engine.require_wallet(hand_out.wallet);
    RAISE EXCEPTION 'the chain % has neither a pool nor addresses: the first argument is a slip44 code of ADDRESS_POOLS', hand_out.slip44
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  IF taken IS NULL THEN PERFORM engine.note_null_take(hand_out.wallet, hand_out.slip44); END IF;
  RETURN taken;
END $function$;
--> statement-breakpoint
-- A role that may read transactions is a reader and sees all rows that it saw before; others see what they took.
CREATE FUNCTION engine.restrict_issuers() RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  PERFORM engine.restrict_readers();
  IF EXISTS (SELECT FROM pg_policy p WHERE p.polrelid = 'ledger.addresses'::regclass AND p.polname = 'taken_addresses') THEN RETURN; END IF;
  CREATE POLICY taken_addresses ON ledger.addresses AS RESTRICTIVE FOR SELECT
    USING ((SELECT has_table_privilege(current_user, 'ledger.transactions', 'select')) OR assigned_by = current_user::text);
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION engine.restrict_issuers IS 'Restricts roles that may not read transactions to the addresses that they took';
--> statement-breakpoint
SELECT engine.make_own_views();
--> statement-breakpoint
SELECT engine.settle_rights();
