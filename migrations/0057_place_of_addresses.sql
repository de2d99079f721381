ALTER TABLE "engine"."home" ADD COLUMN "place" uuid;
ALTER TABLE "engine"."home" ALTER COLUMN "place" SET DEFAULT gen_random_uuid();
--> statement-breakpoint
-- A row that is written again has another xmin. A row that does not fit stays as it is: the database has moved.
UPDATE engine.home SET place = gen_random_uuid(), own_xid = pg_current_xact_id()::xid
 WHERE id = 1 AND engine.home_state() IS NULL;
--> statement-breakpoint
CREATE FUNCTION engine.current_place() RETURNS uuid
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$ SELECT h.place FROM engine.home h WHERE h.id = 1 $$;
--> statement-breakpoint
ALTER TABLE "ledger"."addresses" ADD COLUMN "place" uuid;
--> statement-breakpoint
UPDATE ledger.addresses SET place = engine.current_place() WHERE status = 'available';
--> statement-breakpoint
ALTER TABLE "ledger"."addresses" ALTER COLUMN "place" SET DEFAULT engine.current_place();
--> statement-breakpoint
CREATE FUNCTION engine.has_strange_places() RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
SELECT EXISTS (SELECT FROM ledger.addresses a, engine.home h
                WHERE h.id = 1 AND a.status = 'available' AND a.place <> h.place)
$$;
--> statement-breakpoint
CREATE OR REPLACE VIEW engine.own_place AS
SELECT h.addresses_oid, h.place
  FROM engine.home h
 WHERE h.id = 1 AND h.own_xid::text = current_setting('wallet_ledger.home', true) AND h.xmin = h.own_xid
   AND h.tableoid = h.own_oid AND h.disturbed_by IS NULL
   AND CASE WHEN h.timeline IS NULL OR pg_is_in_recovery() THEN true
            ELSE h.timeline = left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) END;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION engine.home_state()
 RETURNS text
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
DECLARE
  home record;
BEGIN
  SELECT h.xmin = h.own_xid AS is_own_row, h.tableoid = h.own_oid AS is_own_table,
         h.addresses_oid = 'ledger.addresses'::regclass AS is_own_addresses,
         h.database_oid = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()) AS is_own_database,
         h.system_identifier, h.timeline, h.disturbed_by
    INTO home FROM engine.home h WHERE h.id = 1;
  IF NOT FOUND THEN
    RETURN 'the row that says where the database lives is missing';
  ELSIF home.disturbed_by IS NOT NULL THEN
    RETURN home.disturbed_by;
  ELSIF NOT home.is_own_database THEN
    RETURN 'it is a copy: it is in another database';
  ELSIF NOT (home.is_own_table AND home.is_own_addresses) THEN
    RETURN 'it was restored: its tables were created again';
  ELSIF NOT home.is_own_row THEN
    RETURN 'it was restored: its rows were written again';
  ELSIF home.system_identifier IS NOT NULL
    AND has_function_privilege('pg_catalog.pg_control_system()'::regprocedure, 'EXECUTE') THEN
    IF home.system_identifier <> (SELECT c.system_identifier FROM pg_control_system() c) THEN
      RETURN 'it is in another PostgreSQL cluster';
    END IF;
  END IF;
  IF home.timeline IS NOT NULL AND NOT pg_is_in_recovery() THEN
    IF home.timeline <> left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) THEN
      RETURN 'its write-ahead log is on another timeline: a standby was promoted, or it was recovered to a point in time';
    END IF;
  END IF;
  IF engine.has_strange_places() THEN
    RETURN 'its available addresses were loaded from another database';
  END IF;
  RETURN NULL;
END $function$;
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
         -- Evaluated once: a condition on both rows could be planned as a join.
         AND coalesce(t.place = (SELECT h.place FROM engine.home h WHERE h.id = 1), true)
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
    PERFORM FROM engine.own_place o WHERE o.addresses_oid = 'ledger.addresses'::regclass AND NOT engine.has_strange_places();
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
COMMENT ON COLUMN engine.home.place IS 'Identifies the database since its last move; null if it has moved before places were recorded';
COMMENT ON COLUMN ledger.addresses.place IS 'Internal: engine.home.place when the address was first seen or last became available; an available address of another place was loaded from another database. Null for addresses from before places were recorded';
COMMENT ON COLUMN engine.own_place.place IS 'Identifies the database since its last move';
COMMENT ON FUNCTION engine.current_place IS 'Place of the database (engine.home.place)';
COMMENT ON FUNCTION engine.has_strange_places IS 'True if an available address was loaded from another database, for example by a restore of data alone';
--> statement-breakpoint
SELECT engine.make_own_views();
--> statement-breakpoint
SELECT engine.settle_rights();
--> statement-breakpoint
-- The policy of roles that see one wallet asks engine.seen_wallets for every role, consumers of the feed too.
DO $$
DECLARE
  consumer regrole;
BEGIN
  FOR consumer IN SELECT DISTINCT x.grantee FROM pg_class c, aclexplode(c.relacl) x
                   WHERE c.oid = 'ledger.events'::regclass AND x.privilege_type = 'SELECT' AND x.grantee NOT IN (0, c.relowner)
  LOOP
    EXECUTE format('GRANT EXECUTE ON FUNCTION engine.seen_wallets(name) TO %s', consumer);
  END LOOP;
END $$;
