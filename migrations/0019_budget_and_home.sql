-- After a crash or a move the row has forgotten slots that were given out, and processes that are still alive use them.
-- Whoever asks first waits for as many as can be in their hands, those of six processes with eight requests each: 50
-- slots, at least a second, and 10 s at most, for the budget is promised of windows of 10 s.
CREATE OR REPLACE FUNCTION ledger.take_tickets(n integer, max_rps double precision, nonce_unit text)
RETURNS TABLE (observation bigint, nonce bigint, wait_ms double precision, asked_ms double precision)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  ticket ledger.request_tickets%ROWTYPE;
  now_at timestamptz;
  went_back interval;
  first_nonce bigint;
  first_observation bigint;
  ahead double precision;
  slot double precision := coalesce(1.01 / max_rps, 0);
  second bigint := CASE nonce_unit WHEN 'us' THEN 1000000 ELSE 1000 END;
  hold double precision := 0;
  observation_step CONSTANT bigint := 1000000;
  nonce_step bigint := 5 * second;
BEGIN
  SELECT * INTO STRICT ticket FROM ledger.request_tickets WHERE id = 1 FOR UPDATE;
  now_at := clock_timestamp();
  PERFORM FROM engine.ticket_witness w
    JOIN pg_database d ON d.oid = w.database_oid AND d.datname = current_database()
   WHERE w.xmin = w.own_xid;
  IF NOT FOUND THEN
    DELETE FROM engine.ticket_witness;
    INSERT INTO engine.ticket_witness
    SELECT pg_current_xact_id()::xid, d.oid FROM pg_database d WHERE d.datname = current_database();
    -- Nonces that were given out since the state to which the database went back are behind the clock, or no further
    -- ahead of it than this.
    ticket.last_nonce := greatest(ticket.last_nonce, ticket.nonce_ceiling,
                                  floor(extract(epoch FROM now_at) * second)::bigint + 2 * nonce_step);
    PERFORM setval('ledger.observations', greatest(o.last_value, ticket.observation_ceiling)) FROM ledger.observations o;
    hold := CASE WHEN slot > 0 THEN least(greatest(50 * slot, 1), 10) ELSE 0 END;
  END IF;
  first_nonce := greatest(ticket.last_nonce + 1, floor(extract(epoch FROM now_at) * second)::bigint);
  SELECT o.last_value + 1 INTO first_observation FROM ledger.observations o;
  IF first_nonce + n + nonce_step > ticket.nonce_ceiling
     OR first_observation + n + observation_step > ticket.observation_ceiling THEN
    ticket.nonce_ceiling := greatest(ticket.nonce_ceiling, first_nonce + n + 2 * nonce_step);
    ticket.observation_ceiling := greatest(ticket.observation_ceiling, first_observation + n + 2 * observation_step);
  ELSE
    PERFORM set_config('synchronous_commit', 'off', true);
  END IF;
  went_back := greatest(ticket.asked_at - now_at, interval '0');
  ticket.next_slot_at := ticket.next_slot_at - went_back;
  ticket.paused_until := ticket.paused_until - went_back;
  ahead := extract(epoch FROM ticket.next_slot_at - now_at);
  IF slot < ticket.slot_seconds THEN
    ahead := least(ahead, ahead / ticket.slot_seconds * slot);
  END IF;
  ahead := greatest(ahead, -0.05, hold, extract(epoch FROM ticket.paused_until - now_at));
  UPDATE ledger.request_tickets
     SET last_nonce = first_nonce + n - 1, nonce_ceiling = ticket.nonce_ceiling,
         observation_ceiling = ticket.observation_ceiling,
         next_slot_at = CASE WHEN max_rps IS NULL THEN ticket.next_slot_at
                             ELSE now_at + make_interval(secs => ahead + n * slot) END,
         slot_seconds = CASE WHEN max_rps IS NULL THEN ticket.slot_seconds ELSE slot END,
         paused_until = ticket.paused_until, asked_at = now_at
   WHERE id = 1;
  RETURN QUERY
    SELECT nextval('ledger.observations'),
           first_nonce + i,
           (ahead + i * slot) * 1000,
           (extract(epoch FROM now_at) * 1000)::double precision
      FROM generate_series(0, n - 1) AS i;
END $$;
--> statement-breakpoint
-- By its key: engine.hand_out forbids scans of whole tables, and up to PostgreSQL 17 one that cannot be avoided is so dear
-- that each call is compiled (jit), which takes half a second.
CREATE OR REPLACE FUNCTION engine.home_state() RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
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
    RETURN 'it is a copy: it lies in another database';
  ELSIF NOT (home.is_own_table AND home.is_own_addresses) THEN
    RETURN 'it was restored: its tables were made anew';
  ELSIF NOT home.is_own_row THEN
    RETURN 'it was restored: its rows were written anew';
  ELSIF home.system_identifier IS NOT NULL
    AND has_function_privilege('pg_catalog.pg_control_system()'::regprocedure, 'EXECUTE') THEN
    IF home.system_identifier <> (SELECT c.system_identifier FROM pg_control_system() c) THEN
      RETURN 'it lies in another cluster of databases';
    END IF;
  END IF;
  IF home.timeline IS NOT NULL AND NOT pg_is_in_recovery() THEN
    IF home.timeline <> left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) THEN
      RETURN 'its log goes on along another timeline: a standby was promoted, or it was recovered to a point in time';
    END IF;
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
-- A session cannot leave its cluster or its database: what is dear to ask of them is asked once. The setting names the
-- row of engine.home that this session has found to be of its own place; a row that was written since has another number.
CREATE OR REPLACE FUNCTION engine.require_home() RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  away text := engine.home_state();
BEGIN
  IF away IS NOT NULL THEN
    RAISE EXCEPTION 'the database has moved (%): addresses that it calls available may have been handed out', away
      USING ERRCODE = 'WL001',
            HINT = 'with ON_MOVE=heal a running wallet-ledger daemon sets it right within a minute; otherwise run `wallet-ledger recover`';
  END IF;
  PERFORM set_config('wallet_ledger.home', h.own_xid::text, false) FROM engine.home h WHERE h.id = 1;
END $$;
--> statement-breakpoint
-- What a session cannot have left is not asked again; whatever can change under it is asked with every call.
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
  is_shared boolean;
  last_seen_at timestamptz;
  last_address text;
  passed_over text[] := '{}';
  has_lost boolean := false;
  holder record;
BEGIN
  PERFORM FROM engine.home h
    WHERE h.id = 1 AND h.own_xid::text = current_setting('wallet_ledger.home', true) AND h.xmin = h.own_xid AND h.tableoid = h.own_oid
      AND h.addresses_oid = 'ledger.addresses'::regclass AND h.disturbed_by IS NULL
      AND CASE WHEN h.timeline IS NULL OR pg_is_in_recovery() THEN true
               ELSE h.timeline = left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) END;
  IF NOT FOUND THEN PERFORM engine.require_home(); END IF;
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
  FOR attempt IN 1..20 LOOP
    IF hand_out.reference IS NOT NULL THEN
      SELECT a.address, a.address_key, a.assigned_no INTO taken, key, number FROM ledger.addresses a
       WHERE a.slip44 = hand_out.slip44 AND a.assigned_to = hand_out.reference
       ORDER BY a.assigned_no LIMIT 1;
      IF FOUND AND number IS NOT NULL AND NOT hand_out.is_further THEN RETURN taken; END IF;
      IF FOUND THEN
        -- Kept for this reference because it has the address on another chain.
        SELECT max(a.assigned_no), min(a.address_key) FILTER (WHERE a.assigned_no IS NULL) INTO number, key
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
    SELECT a.first_seen_at, a.address INTO last_seen_at, last_address FROM ledger.addresses a
     WHERE a.slip44 = hand_out.slip44 AND a.assigned_at IS NOT NULL
     ORDER BY a.assigned_at DESC LIMIT 1;
    BEGIN
      key := NULL;
      UPDATE ledger.addresses t
         SET status = 'assigned', assigned_to = hand_out.reference, assigned_no = number, assigned_at = clock_timestamp()
       WHERE t.slip44 = hand_out.slip44
         AND NOT EXISTS (SELECT FROM ledger.pools p WHERE p.slip44 = hand_out.slip44 AND p.chain_filter = 'broken')
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
                           WHERE a.slip44 = hand_out.slip44 AND a.status = 'available')
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
   WHERE NOT hand_out.is_further AND a.slip44 = hand_out.slip44 AND a.assigned_to = hand_out.reference AND a.assigned_no = 1;
  IF taken IS NULL AND NOT EXISTS (SELECT FROM ledger.pools p WHERE p.slip44 = hand_out.slip44)
     AND NOT EXISTS (SELECT FROM ledger.addresses a WHERE a.slip44 = hand_out.slip44) THEN
    RAISE EXCEPTION 'the chain % has neither a pool nor addresses: the first argument is a slip44 code of ADDRESS_POOLS', hand_out.slip44
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  RETURN taken;
END $$;
