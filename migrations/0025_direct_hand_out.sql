ALTER TABLE "ledger"."addresses" DROP CONSTRAINT "addresses_status";--> statement-breakpoint
ALTER TABLE "ledger"."addresses" DROP CONSTRAINT "addresses_refused";--> statement-breakpoint
ALTER TABLE "ledger"."addresses" DROP CONSTRAINT "addresses_form";--> statement-breakpoint
-- For each update PostgreSQL reads the text of each constraint anew, which took longer than to find the address. The text
-- of a call is short.
CREATE FUNCTION engine.is_sound_address(status text, form text, refused text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
BEGIN
  RETURN status IN ('available', 'assigned', 'used', 'foreign')
     AND (form IS NULL OR form IN ('proven', 'plain', 'strange', 'misfit', 'other'))
     AND (status <> 'available' OR refused IS NULL AND form IS DISTINCT FROM 'misfit');
END $$;
--> statement-breakpoint
ALTER TABLE "ledger"."addresses" ADD CONSTRAINT "addresses_sound" CHECK (engine.is_sound_address("ledger"."addresses"."status", "ledger"."addresses"."form", "ledger"."addresses"."refused"));
--> statement-breakpoint
-- A row while the database is at home, as far as that can change under a session. The setting names the row of
-- engine.home that this session has found to be of its own cluster and database (engine.require_home). The table of the
-- addresses is compared by the reader: the view must not depend on a table that a restore may replace.
CREATE VIEW engine.own_place AS
SELECT h.addresses_oid
  FROM engine.home h
 WHERE h.id = 1 AND h.own_xid::text = current_setting('wallet_ledger.home', true) AND h.xmin = h.own_xid
   AND h.tableoid = h.own_oid AND h.disturbed_by IS NULL
   AND CASE WHEN h.timeline IS NULL OR pg_is_in_recovery() THEN true
            ELSE h.timeline = left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) END;
--> statement-breakpoint
-- All that is asked of a call and its transaction before it may take an address.
CREATE FUNCTION engine.admit_take(slip44 integer, reference text, is_further boolean) RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
  IF slip44 IS NULL THEN
    RAISE EXCEPTION 'no chain is named: the first argument is its slip44 code' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  IF btrim(reference, E' \t\r\n') = '' THEN
    RAISE EXCEPTION 'the reference is empty: name whom the address is for, or pass null for an address without one'
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  IF is_further AND reference IS NULL THEN
    RAISE EXCEPTION 'a further address needs a reference; without one each call of take_address gives another address'
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  PERFORM engine.bound_idle_time();
  PERFORM engine.require_quota(slip44);
END $$;
--> statement-breakpoint
-- The oldest available address, going on behind the one that was handed out last: what was handed out leaves dead
-- index entries behind, and they are not walked through again and again. When none is left behind it, from the start.
-- Rows that another call holds are passed over. An address that other chains have, too, is taken on all of them: their
-- rows are locked without waiting, so that two calls that meet on one address never wait for each other; the one that
-- is too late gives its row back and goes on behind it. Of two calls with one new reference one loses on the unique
-- index addresses_assigned_to and finds the other's address.
-- The settings that keep the plans on the indexes are those of the functions that call this one.
CREATE OR REPLACE FUNCTION engine.hand_out(slip44 integer, reference text, is_further boolean) RETURNS text
LANGUAGE plpgsql
AS $$
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
    PERFORM engine.admit_take(hand_out.slip44, hand_out.reference, hand_out.is_further);
  END IF;
  FOR attempt IN 1..20 LOOP
    IF hand_out.reference IS NOT NULL THEN
      SELECT a.address, a.assigned_no, a.refused IS NULL INTO taken, number, is_good FROM ledger.addresses a
       WHERE a.slip44 = hand_out.slip44 AND a.assigned_to = hand_out.reference
       ORDER BY a.assigned_no LIMIT 1;
      IF FOUND THEN
        PERFORM FROM engine.own_place o WHERE o.addresses_oid = 'ledger.addresses'::regclass;
        IF NOT FOUND THEN PERFORM engine.require_home(); END IF;
        IF is_good AND number IS NOT NULL AND NOT hand_out.is_further THEN RETURN taken; END IF;
        -- The reference has further addresses, refused ones, or one that is kept for it because it has it on another chain.
        SELECT a.address INTO taken FROM ledger.addresses a
         WHERE NOT hand_out.is_further AND a.slip44 = hand_out.slip44 AND a.assigned_to = hand_out.reference
           AND a.refused IS NULL AND a.assigned_no IS NOT NULL
         ORDER BY a.assigned_no LIMIT 1;
        IF FOUND THEN RETURN taken; END IF;
        SELECT max(a.assigned_no), min(a.address_key) FILTER (WHERE a.assigned_no IS NULL AND a.refused IS NULL) INTO number, key
          FROM ledger.addresses a WHERE a.slip44 = hand_out.slip44 AND a.assigned_to = hand_out.reference;
        number := coalesce(number, 0) + 1;
        IF key IS NOT NULL THEN
          BEGIN
            UPDATE ledger.addresses t SET assigned_no = number
             WHERE t.slip44 = hand_out.slip44 AND t.address_key = key AND t.assigned_to = hand_out.reference AND t.assigned_no IS NULL
               AND NOT EXISTS (SELECT FROM ledger.pools p WHERE p.slip44 = hand_out.slip44 AND p.chain_filter = 'broken')
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
             assigned_xact = pg_current_xact_id()
       WHERE t.slip44 = hand_out.slip44
         AND EXISTS (SELECT FROM engine.own_place o WHERE o.addresses_oid = 'ledger.addresses'::regclass)
         AND NOT EXISTS (SELECT FROM ledger.pools p WHERE p.slip44 = hand_out.slip44 AND p.chain_filter = 'broken')
         AND t.address_key = coalesce(
           (SELECT a.address_key FROM ledger.addresses a
             WHERE a.slip44 = hand_out.slip44 AND a.status = 'available' AND a.address_key <> ALL (passed_over)
               AND (a.first_seen_at, a.address) > (SELECT l.first_seen_at, l.address FROM ledger.addresses l
                                                    WHERE l.slip44 = hand_out.slip44 AND l.assigned_at IS NOT NULL
                                                    ORDER BY l.assigned_at DESC LIMIT 1)
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
    PERFORM FROM engine.own_place o WHERE o.addresses_oid = 'ledger.addresses'::regclass;
    IF NOT FOUND THEN
      -- The session's first call, which asks for all facts, or a move.
      PERFORM engine.require_home();
      CONTINUE;
    END IF;
    EXIT WHEN NOT EXISTS (SELECT FROM ledger.addresses a WHERE a.slip44 = hand_out.slip44 AND a.status = 'available')
           OR EXISTS (SELECT FROM ledger.pools p WHERE p.slip44 = hand_out.slip44 AND p.chain_filter = 'broken');
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
--> statement-breakpoint
-- Settings cost with each function that has them: one has them all. Replaced, not made anew: whoever may call it keeps the right.
CREATE OR REPLACE FUNCTION ledger.take_address(slip44 integer, reference text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_sort = off AS $$
BEGIN
  RETURN engine.hand_out(slip44, reference, false);
END $$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION ledger.take_address(wallet text, slip44 integer, reference text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_sort = off AS $$
BEGIN
  PERFORM engine.require_wallet(wallet);
  RETURN engine.hand_out(slip44, reference, false);
END $$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION ledger.take_further_address(slip44 integer, reference text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_sort = off AS $$
BEGIN
  RETURN engine.hand_out(slip44, reference, true);
END $$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION ledger.take_further_address(wallet text, slip44 integer, reference text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_sort = off AS $$
BEGIN
  PERFORM engine.require_wallet(wallet);
  RETURN engine.hand_out(slip44, reference, true);
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION engine.is_sound_address IS 'Whether status and form of an address are known ones, and an available one was neither refused nor is to be judged again';
COMMENT ON FUNCTION engine.admit_take IS 'Fails where the arguments or the transaction of a call forbid to hand out an address';
COMMENT ON VIEW engine.own_place IS 'One row while the database is where this session has found it to be at home; none otherwise';
COMMENT ON COLUMN engine.own_place.addresses_oid IS 'Table of the addresses at home';
--> statement-breakpoint
SELECT engine.settle_rights();
