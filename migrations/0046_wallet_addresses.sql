-- A wallet that no daemon keeps any more is at rest: hints for all wallets leave it out.
ALTER TABLE ledger.wallets ADD COLUMN is_resting boolean NOT NULL DEFAULT false;
--> statement-breakpoint
-- One key at one service is one wallet, whatever name it has: kept twice, two copies would share its nonces unknowingly.
ALTER TABLE ledger.wallets ADD CONSTRAINT wallets_key UNIQUE (base_url, key_fingerprint);
--> statement-breakpoint
COMMENT ON COLUMN ledger.wallets.is_resting IS 'No daemon has the wallet among its WALLETS; its rows stay';
--> statement-breakpoint
DROP INDEX ledger.addresses_unchecked;
CREATE INDEX addresses_unchecked ON ledger.addresses USING btree (wallet,unchecked_until) WHERE ledger.addresses.unchecked_until is not null;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION engine.require_wallet(wallet text) RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
  names text[];
BEGIN
  SELECT array_agg(w.wallet ORDER BY w.wallet) INTO names FROM engine.wallet_names w;
  IF wallet IS NULL OR wallet <> ALL (names) THEN
    RAISE EXCEPTION 'there is no wallet named %: %', coalesce(quote_literal(wallet), 'null'),
      CASE WHEN cardinality(names) > 1 THEN 'the wallets are ' ELSE 'the only one is ' END || array_to_string(names, ', ')
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
END $$;
--> statement-breakpoint
-- Mostly one row of a small table says it. Everything else is rare: a chain of several wallets, or one without a pool,
-- whose addresses come from a list. A wallet at rest and a pool that the settings no longer have do not count beside others.
CREATE FUNCTION engine.wallet_of_chain(slip44 integer) RETURNS text
LANGUAGE plpgsql STABLE
AS $$
#variable_conflict use_column
DECLARE
  name text;
  pools bigint;
  names text[];
BEGIN
  SELECT min(p.wallet), count(*) INTO name, pools FROM ledger.pools p WHERE p.slip44 = wallet_of_chain.slip44;
  IF pools = 1 THEN RETURN name; END IF;
  IF pools > 1 THEN
    SELECT array_agg(p.wallet ORDER BY p.wallet) INTO names FROM ledger.pools p
     WHERE p.slip44 = wallet_of_chain.slip44 AND p.target > 0
       AND NOT EXISTS (SELECT FROM ledger.wallets w WHERE w.wallet = p.wallet AND w.is_resting);
    IF names IS NULL THEN
      SELECT array_agg(p.wallet ORDER BY p.wallet) INTO names FROM ledger.pools p WHERE p.slip44 = wallet_of_chain.slip44;
    END IF;
  ELSE
    -- One probe of the index for each wallet, and one for its chain.
    WITH RECURSIVE known (wallet) AS (
      SELECT min(a.wallet) FROM ledger.addresses a
      UNION ALL
      SELECT (SELECT min(a.wallet) FROM ledger.addresses a WHERE a.wallet > k.wallet) FROM known k WHERE k.wallet IS NOT NULL)
    SELECT array_agg(k.wallet ORDER BY k.wallet) INTO names FROM known k
     WHERE (SELECT true FROM ledger.addresses a WHERE a.wallet = k.wallet AND a.slip44 = wallet_of_chain.slip44 LIMIT 1);
  END IF;
  IF cardinality(names) > 1 THEN
    RAISE EXCEPTION 'chain % has addresses of several wallets (%)', slip44, array_to_string(names, ', ')
      USING ERRCODE = 'invalid_parameter_value', HINT = format('name one as the first argument, as in take_address(%L, …)', names[1]);
  END IF;
  RETURN coalesce(names[1], engine.wallet());
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION engine.wallet_of_chain IS 'Wallet that has the chain''s pool; an error where several have one';
--> statement-breakpoint
DROP FUNCTION engine.require_quota(integer);
--> statement-breakpoint
CREATE FUNCTION engine.require_quota(wallet text, slip44 integer) RETURNS void
LANGUAGE plpgsql
SET enable_seqscan = off
AS $$
#variable_conflict use_column
DECLARE
  quota integer;
BEGIN
  -- Nothing was taken: a transaction without writes has no number.
  IF pg_current_xact_id_if_assigned() IS NULL OR has_table_privilege(session_user, 'ledger.addresses', 'UPDATE') THEN RETURN; END IF;
  SELECT greatest(10, least(100, p.target / 2)) INTO quota FROM ledger.pools p
   WHERE p.wallet = require_quota.wallet AND p.slip44 = require_quota.slip44;
  quota := coalesce(quota, 100);
  IF (SELECT count(*) FROM ledger.addresses a
       WHERE a.wallet = require_quota.wallet AND a.slip44 = require_quota.slip44 AND a.assigned_at >= transaction_timestamp()
         AND a.assigned_xact = pg_current_xact_id()) >= quota THEN
    RAISE EXCEPTION 'this transaction has taken % addresses of chain %, as many as one may hold', quota, require_quota.slip44
      USING ERRCODE = 'program_limit_exceeded', HINT = 'commit after each address: until then nobody else gets any of them';
  END IF;
END $$;
--> statement-breakpoint
DROP FUNCTION engine.admit_take(integer, text, boolean);
--> statement-breakpoint
CREATE FUNCTION engine.admit_take(wallet text, slip44 integer, reference text, is_further boolean) RETURNS void
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
  PERFORM engine.require_quota(wallet, slip44);
END $$;
--> statement-breakpoint
DROP FUNCTION engine.note_null_take(integer);
--> statement-breakpoint
CREATE FUNCTION engine.note_null_take(wallet text, slip44 integer) RETURNS void
LANGUAGE plpgsql
AS $$
#variable_conflict use_column
BEGIN
  IF EXISTS (SELECT FROM ledger.pools p WHERE p.wallet = note_null_take.wallet AND p.slip44 = note_null_take.slip44 AND p.chain_filter = 'broken')
     OR NOT EXISTS (SELECT FROM ledger.addresses a
                     WHERE a.wallet = note_null_take.wallet AND a.slip44 = note_null_take.slip44 AND a.status = 'available')
     OR EXISTS (SELECT FROM engine.null_takes n
                 WHERE n.wallet = note_null_take.wallet AND n.slip44 = note_null_take.slip44 AND n.taken_at > now() - interval '5 seconds')
  THEN RETURN; END IF;
  INSERT INTO engine.null_takes (wallet, slip44, taken_at)
  VALUES (note_null_take.wallet, note_null_take.slip44, clock_timestamp());
  DELETE FROM engine.null_takes t
   WHERE t.ctid = ANY (ARRAY(SELECT n.ctid FROM engine.null_takes n WHERE n.taken_at < now() - interval '1 hour' FOR UPDATE SKIP LOCKED));
END $$;
--> statement-breakpoint
DROP FUNCTION engine.hand_out(integer, text, boolean);
--> statement-breakpoint
-- As before, within one wallet: another wallet's addresses are other rows, also where they have the same text. An unknown
-- wallet has no addresses, so it needs no check before that.
CREATE FUNCTION engine.hand_out(wallet text, slip44 integer, reference text, is_further boolean) RETURNS text
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
             assigned_xact = pg_current_xact_id()
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
        SELECT min(o.assigned_to) AS assigned_to, min(o.assigned_at) AS assigned_at, count(*) AS rows,
               count(*) FILTER (WHERE o.assigned_to = hand_out.reference) AS own INTO holder
          FROM ledger.addresses o
         WHERE o.wallet = hand_out.wallet AND o.address_key = key AND o.slip44 <> hand_out.slip44 AND o.assigned_at IS NOT NULL;
        IF holder.rows = holder.own THEN
          UPDATE ledger.addresses o
             SET status = 'assigned', assigned_to = hand_out.reference, assigned_at = clock_timestamp()
           WHERE o.wallet = hand_out.wallet AND o.address_key = key AND o.slip44 <> hand_out.slip44 AND o.status = 'available';
          RETURN taken;
        END IF;
        -- Somebody else has it on another chain: here it is nobody else's either.
        UPDATE ledger.addresses t
           SET assigned_to = holder.assigned_to, assigned_no = NULL, assigned_at = holder.assigned_at
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
END $$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION ledger.take_address(slip44 integer, reference text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_sort = off
AS $$
BEGIN
  RETURN engine.hand_out(engine.wallet_of_chain(slip44), slip44, reference, false);
END $$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION ledger.take_address(wallet text, slip44 integer, reference text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_sort = off
AS $$
BEGIN
  RETURN engine.hand_out(wallet, slip44, reference, false);
END $$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION ledger.take_further_address(slip44 integer, reference text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_sort = off
AS $$
BEGIN
  RETURN engine.hand_out(engine.wallet_of_chain(slip44), slip44, reference, true);
END $$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION ledger.take_further_address(wallet text, slip44 integer, reference text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_sort = off
AS $$
BEGIN
  RETURN engine.hand_out(wallet, slip44, reference, true);
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION ledger.take_address(text, integer, text) IS 'As take_address(slip44, reference), for a named wallet; without a name it is the only wallet that has a pool of the chain';
COMMENT ON FUNCTION ledger.take_further_address(text, integer, text) IS 'As take_further_address(slip44, reference), for a named wallet; without a name it is the only wallet that has a pool of the chain';
--> statement-breakpoint
CREATE OR REPLACE FUNCTION engine.holder_of(key text)
RETURNS TABLE (assigned_to text, assigned_at timestamptz, holders bigint)
LANGUAGE sql STABLE
AS $$
SELECT min(a.assigned_to), min(a.assigned_at), count(DISTINCT a.assigned_to) + least(1, count(*) FILTER (WHERE a.assigned_to IS NULL))
  FROM own.addresses a WHERE a.address_key = key AND a.assigned_at IS NOT NULL
HAVING count(*) > 0
$$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION engine.recount_use(keys text[]) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  PERFORM engine.recount_use(engine.wallet(), keys);
END $$;
--> statement-breakpoint
CREATE FUNCTION engine.recount_use(of_wallet text, keys text[]) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
BEGIN
  PERFORM 1 FROM ledger.addresses a WHERE a.wallet = of_wallet AND a.address_key = ANY (keys) ORDER BY a.address_key, a.slip44 FOR UPDATE;
  UPDATE ledger.addresses a
     SET status = engine.status_by_use(a.status, a.assigned_at IS NOT NULL, d.has_any, d.order_no IS NOT NULL),
         first_deposit_order_no = d.order_no, first_deposit_at = d.occurred_at
    FROM (SELECT DISTINCT k FROM unnest(keys) AS k) AS u
   CROSS JOIN LATERAL (
      SELECT count(*) > 0 AS has_any,
             (array_agg(t.order_no ORDER BY t.occurred_at, t.order_no) FILTER (WHERE t.counts))[1] AS order_no,
             (array_agg(t.occurred_at ORDER BY t.occurred_at, t.order_no) FILTER (WHERE t.counts))[1] AS occurred_at
        FROM (SELECT x.order_no, x.occurred_at,
                     EXISTS (SELECT FROM ledger.final_states f
                              WHERE f.wallet = of_wallet AND f.is_success AND f.state = lower(btrim(x.state))) AS counts
                FROM ledger.transactions x
               WHERE x.wallet = of_wallet AND x.stream = 'deposit' AND ledger.address_key(x.to_address) = u.k OFFSET 0) AS t) AS d
   WHERE a.wallet = of_wallet AND a.address_key = u.k
     AND (a.first_deposit_order_no, a.first_deposit_at, a.status)
         IS DISTINCT FROM (d.order_no, d.occurred_at,
                           engine.status_by_use(a.status, a.assigned_at IS NOT NULL, d.has_any, d.order_no IS NOT NULL));
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION engine.recount_use(text, text[]) IS 'Sets the use of the wallet''s addresses from its deposits';
--> statement-breakpoint
CREATE OR REPLACE FUNCTION engine.recount_all_use()
RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  PERFORM 1 FROM own.addresses a ORDER BY a.address_key, a.slip44 FOR UPDATE;
  UPDATE own.addresses a
     SET status = engine.status_by_use(a.status, a.assigned_at IS NOT NULL, d.has_any, d.order_no IS NOT NULL),
         first_deposit_order_no = d.order_no, first_deposit_at = d.occurred_at
    FROM (SELECT x.address_key, count(t.order_no) > 0 AS has_any,
                 (array_agg(t.order_no ORDER BY t.occurred_at, t.order_no) FILTER (WHERE f.is_success))[1] AS order_no,
                 (array_agg(t.occurred_at ORDER BY t.occurred_at, t.order_no) FILTER (WHERE f.is_success))[1] AS occurred_at
            FROM (SELECT DISTINCT y.address_key FROM own.addresses y) AS x
            LEFT JOIN own.transactions t ON t.stream = 'deposit' AND ledger.address_key(t.to_address) = x.address_key
            LEFT JOIN own.final_states f ON f.state = lower(btrim(t.state))
           GROUP BY x.address_key) AS d
   WHERE a.address_key = d.address_key
     AND (a.first_deposit_order_no, a.first_deposit_at, a.status)
         IS DISTINCT FROM (d.order_no, d.occurred_at,
                           engine.status_by_use(a.status, a.assigned_at IS NOT NULL, d.has_any, d.order_no IS NOT NULL));
END $$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION engine.without_deposit(keys text[])
RETURNS SETOF text
LANGUAGE plpgsql
STABLE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
BEGIN
  RETURN QUERY
  SELECT u.k FROM unnest(keys) AS u (k)
   WHERE (SELECT count(*) FROM (SELECT FROM own.transactions t
                                 WHERE t.stream = 'deposit' AND ledger.address_key(t.to_address) = u.k LIMIT 1) AS d) = 0;
END $$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION engine.note_deposits()
RETURNS trigger
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  -- The first history is stored before the first address.
  IF NOT EXISTS (SELECT FROM ledger.addresses) THEN RETURN NULL; END IF;
  WITH deposits AS MATERIALIZED (
    SELECT DISTINCT ON (n.wallet, n.key) n.wallet, n.key, n.counts, n.occurred_at, n.order_no
      FROM (SELECT DISTINCT ON (x.wallet, x.to_address)
                   x.wallet, ledger.address_key(x.to_address) AS key, f.state IS NOT NULL AS counts, x.occurred_at, x.order_no
              FROM new_rows x
              LEFT JOIN ledger.final_states f ON f.wallet = x.wallet AND f.is_success AND f.state = lower(btrim(x.state))
             WHERE x.stream = 'deposit' AND x.to_address IS NOT NULL
             ORDER BY x.wallet, x.to_address, f.state IS NOT NULL DESC, x.occurred_at, x.order_no) AS n
     ORDER BY n.wallet, n.key, n.counts DESC, n.occurred_at, n.order_no),
  touched AS (
    SELECT a.wallet, a.slip44, a.address_key, d.counts, d.occurred_at, d.order_no
      FROM deposits d JOIN ledger.addresses a ON a.wallet = d.wallet AND a.address_key = d.key
     WHERE CASE WHEN d.counts THEN a.first_deposit_order_no IS NULL OR (coalesce(d.occurred_at, 'infinity'), d.order_no)
                                     < (coalesce(a.first_deposit_at, 'infinity'), a.first_deposit_order_no)
                ELSE a.status = 'available' END
     ORDER BY a.wallet, a.address_key, a.slip44 FOR UPDATE OF a)
  UPDATE ledger.addresses a
     SET status = engine.status_by_use(a.status, a.assigned_at IS NOT NULL, true, t.counts),
         first_deposit_order_no = CASE WHEN t.counts THEN t.order_no END,
         first_deposit_at = CASE WHEN t.counts THEN t.occurred_at END
    FROM touched t
   WHERE a.wallet = t.wallet AND a.slip44 = t.slip44 AND a.address_key = t.address_key
     AND CASE WHEN t.counts THEN a.first_deposit_order_no IS NULL OR (coalesce(t.occurred_at, 'infinity'), t.order_no)
                                   < (coalesce(a.first_deposit_at, 'infinity'), a.first_deposit_order_no)
              ELSE a.status = 'available' END;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION engine.note_changed_deposit()
RETURNS trigger
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  key text := CASE WHEN NEW.stream = 'deposit' THEN ledger.address_key(NEW.to_address) END;
  counts boolean := key IS NOT NULL
    AND EXISTS (SELECT FROM ledger.final_states f WHERE f.wallet = NEW.wallet AND f.is_success AND f.state = lower(btrim(NEW.state)));
  passed_over text[];
BEGIN
  IF OLD.wallet <> NEW.wallet AND OLD.stream = 'deposit' THEN
    PERFORM engine.recount_use(OLD.wallet, ARRAY[ledger.address_key(OLD.to_address)]);
  END IF;
  SELECT array_agg(a.address_key) INTO passed_over FROM ledger.addresses a
   WHERE a.wallet = NEW.wallet AND a.first_deposit_order_no = NEW.order_no
     AND NOT (counts AND a.address_key = key AND a.first_deposit_at IS NOT DISTINCT FROM NEW.occurred_at);
  IF passed_over IS NOT NULL THEN
    PERFORM engine.recount_use(NEW.wallet, passed_over || key);
  ELSIF key IS NOT NULL THEN
    PERFORM 1 FROM ledger.addresses a
      WHERE a.wallet = NEW.wallet AND a.address_key = key
        AND CASE WHEN counts THEN a.first_deposit_order_no IS NULL OR (coalesce(NEW.occurred_at, 'infinity'), NEW.order_no)
                                   < (coalesce(a.first_deposit_at, 'infinity'), a.first_deposit_order_no)
                 ELSE a.status = 'available' END
      ORDER BY a.slip44 FOR UPDATE;
    IF FOUND THEN
      UPDATE ledger.addresses a
         SET status = engine.status_by_use(a.status, a.assigned_at IS NOT NULL, true, counts),
             first_deposit_order_no = CASE WHEN counts THEN NEW.order_no END,
             first_deposit_at = CASE WHEN counts THEN NEW.occurred_at END
       WHERE a.wallet = NEW.wallet AND a.address_key = key
         AND CASE WHEN counts THEN a.first_deposit_order_no IS NULL OR (coalesce(NEW.occurred_at, 'infinity'), NEW.order_no)
                                    < (coalesce(a.first_deposit_at, 'infinity'), a.first_deposit_order_no)
                  ELSE a.status = 'available' END;
    END IF;
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE OR REPLACE TRIGGER transactions_deposit_changed AFTER UPDATE ON ledger.transactions
FOR EACH ROW WHEN ((old.stream = 'deposit' OR new.stream = 'deposit')
  AND (old.state IS DISTINCT FROM new.state OR old.to_address IS DISTINCT FROM new.to_address
    OR old.occurred_at IS DISTINCT FROM new.occurred_at OR old.stream <> new.stream OR old.wallet <> new.wallet))
EXECUTE FUNCTION engine.note_changed_deposit();
--> statement-breakpoint
CREATE OR REPLACE FUNCTION engine.check_new_addresses()
RETURNS bigint
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
AS $$
DECLARE
  oldest xid8 := pg_snapshot_xmin(pg_current_snapshot());
  due bigint;
  keys text[];
BEGIN
  -- Those that must wait are looked at all the same, the latest first: most have nothing to wait for.
  SELECT array_agg(x.address_key), count(*) FILTER (WHERE x.is_due) INTO keys, due
    FROM ((SELECT a.address_key, true AS is_due FROM own.addresses a
            WHERE a.unchecked_until <= oldest ORDER BY a.unchecked_until LIMIT 2000)
          UNION ALL
          (SELECT a.address_key, false FROM own.addresses a
            WHERE a.unchecked_until > oldest ORDER BY a.unchecked_until DESC LIMIT 500)) AS x;
  IF keys IS NULL THEN RETURN 0; END IF;
  PERFORM engine.recount_use(keys);
  UPDATE own.addresses a
     SET status = CASE WHEN h.holders = 1 THEN 'assigned' ELSE 'foreign' END,
         assigned_to = CASE WHEN h.holders = 1 THEN h.assigned_to END,
         assigned_at = CASE WHEN h.holders = 1 THEN h.assigned_at END
    FROM unnest(keys) AS k CROSS JOIN LATERAL engine.holder_of(k) AS h
   WHERE a.address_key = k AND a.status = 'available';
  UPDATE own.addresses a
     SET unchecked_until = CASE WHEN a.unchecked_until = '0' THEN pg_snapshot_xmax(pg_current_snapshot()) END
   WHERE a.address_key = ANY (keys) AND a.unchecked_until <= oldest;
  RETURN due;
END $$;
--> statement-breakpoint
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
     AND NOT EXISTS (SELECT FROM own.address_requests r
                      WHERE r.slip44 = chain AND (r.state <> 'done' OR r.received IS DISTINCT FROM r.num)
                        AND r.requested_at < a.first_seen_at AND r.requested_at > a.first_seen_at - interval '24 hours');
  IF strangers > 0 THEN
    PERFORM engine.disturb_home(format('the service lists %s addresses of chain %s that were generated elsewhere', strangers, chain));
  END IF;
END $$;
--> statement-breakpoint
CREATE FUNCTION engine.reference_of(wallet text, to_address text) RETURNS text
LANGUAGE sql STABLE
AS $$
SELECT a.assigned_to FROM ledger.addresses a
 WHERE a.wallet = reference_of.wallet AND a.address_key = ledger.address_key(to_address) AND a.assigned_to IS NOT NULL
 ORDER BY a.assigned_at LIMIT 1
$$;
--> statement-breakpoint
COMMENT ON FUNCTION engine.reference_of(text, text) IS 'Reference for which the wallet handed out the address; null if it did not';
--> statement-breakpoint
CREATE OR REPLACE FUNCTION engine.reference_of(to_address text) RETURNS text
LANGUAGE sql STABLE
RETURN engine.reference_of(engine.wallet(), to_address);
--> statement-breakpoint
CREATE OR REPLACE FUNCTION engine.add_hints(order_nos text[]) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  PERFORM engine.add_hints(engine.wallet(), order_nos);
END $$;
--> statement-breakpoint
CREATE FUNCTION engine.add_hints(of_wallet text, order_nos text[]) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  sees_latest boolean := current_setting('transaction_isolation') = 'read committed';
  lists_added integer;
  orders_added integer;
BEGIN
  INSERT INTO engine.hint_turns (wallet, subject, next_at)
  SELECT of_wallet, t.subject, now() FROM (VALUES ('deposit'), ('withdraw'), ('details')) AS t (subject)
   WHERE NOT EXISTS (SELECT FROM engine.hint_turns k WHERE k.wallet = of_wallet AND k.subject = t.subject)
  ON CONFLICT (wallet, subject) DO NOTHING;
  INSERT INTO engine.hints (wallet, subject)
  SELECT of_wallet, l.subject FROM (VALUES ('deposit'), ('withdraw')) AS l (subject)
   WHERE (SELECT count(*) FROM engine.hints h WHERE h.wallet = of_wallet AND h.subject = l.subject AND h.taken_at IS NULL)
         < CASE WHEN sees_latest THEN 1 ELSE 20 END;
  GET DIAGNOSTICS lists_added = ROW_COUNT;
  INSERT INTO engine.hints (wallet, subject, order_no)
  SELECT DISTINCT of_wallet, 'details', o.order_no FROM unnest(order_nos) AS o (order_no)
   WHERE o.order_no <> '' AND octet_length(o.order_no) <= 512
     AND NOT EXISTS (SELECT FROM engine.hints h
                      WHERE h.wallet = of_wallet AND h.subject = 'details' AND h.order_no = o.order_no AND h.taken_at IS NULL)
   LIMIT greatest(0, 1000 - (SELECT count(*) FROM engine.hints h WHERE h.wallet = of_wallet));
  GET DIAGNOSTICS orders_added = ROW_COUNT;
  IF lists_added + orders_added > 0 THEN PERFORM pg_notify('ledger_hints', of_wallet); END IF;
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION engine.add_hints(text, text[]) IS 'Stores hints for the wallet and wakes the daemons; the notification carries its name';
--> statement-breakpoint
CREATE OR REPLACE FUNCTION ledger.hint(order_nos text[] DEFAULT '{}') RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  PERFORM engine.add_hints(n.wallet, ARRAY(SELECT o.order_no FROM unnest(hint.order_nos) AS o (order_no) LIMIT 50))
     FROM (SELECT k.wallet FROM engine.wallet_names k
            WHERE NOT EXISTS (SELECT FROM ledger.wallets w WHERE w.wallet = k.wallet AND w.is_resting)
            ORDER BY k.wallet) AS n;
END $$;
--> statement-breakpoint
-- Both arguments must be given: otherwise a hint of one text could mean a wallet or a list of order numbers.
CREATE FUNCTION ledger.hint(wallet text, order_nos text[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  PERFORM engine.require_wallet(wallet);
  PERFORM engine.add_hints(wallet, ARRAY(SELECT o.order_no FROM unnest(hint.order_nos) AS o (order_no) LIMIT 50));
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION ledger.hint(text[]) IS 'Says that something has happened at the service: after the commit the daemons read the start of both lists at once, at most once a second each, and fetch the details of the named orders first (at most 50). Nothing that it is told is believed or kept';
COMMENT ON FUNCTION ledger.hint(text, text[]) IS 'As hint(order_nos), for one wallet; without a name the hint is for all wallets that a daemon keeps';
--> statement-breakpoint
-- Whoever may call the form without a wallet may call the other one.
DO $grants$
DECLARE
  g record;
BEGIN
  FOR g IN
    SELECT a.grantee::regrole AS grantee, f.named
      FROM (VALUES ('ledger.hint(text[])', 'ledger.hint(text, text[])'),
                   ('ledger.take_address(integer, text)', 'ledger.take_address(text, integer, text)'),
                   ('ledger.take_further_address(integer, text)', 'ledger.take_further_address(text, integer, text)'))
             AS f (unnamed, named)
      JOIN pg_proc p ON p.oid = f.unnamed::regprocedure
     CROSS JOIN aclexplode(p.proacl) a
     WHERE a.grantee NOT IN (0, p.proowner)
  LOOP
    EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %s', g.named, g.grantee);
  END LOOP;
END $grants$;
--> statement-breakpoint
DROP FUNCTION engine.renew_ticket_witness();
--> statement-breakpoint
-- Of several first requests of a wallet one makes the row, and the others wait for it.
CREATE FUNCTION engine.lock_tickets(of_wallet text) RETURNS ledger.request_tickets
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  ticket ledger.request_tickets;
BEGIN
  SELECT * INTO ticket FROM ledger.request_tickets t WHERE t.wallet = of_wallet AND t.id = 1 FOR UPDATE;
  IF NOT FOUND THEN
    INSERT INTO ledger.request_tickets (wallet, id, last_nonce, next_slot_at) VALUES (of_wallet, 1, 0, now())
    ON CONFLICT (wallet, id) DO NOTHING;
    SELECT * INTO STRICT ticket FROM ledger.request_tickets t WHERE t.wallet = of_wallet AND t.id = 1 FOR UPDATE;
  END IF;
  RETURN ticket;
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION engine.lock_tickets IS 'Locks and returns the row of the wallet''s tickets; makes it on first use';
--> statement-breakpoint
CREATE FUNCTION engine.renew_ticket_witness(of_wallet text) RETURNS boolean
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  PERFORM FROM engine.ticket_witness w
    JOIN pg_database d ON d.oid = w.database_oid AND d.datname = current_database()
   WHERE w.wallet = of_wallet AND w.xmin = w.own_xid;
  IF FOUND THEN RETURN false; END IF;
  DELETE FROM engine.ticket_witness w WHERE w.wallet = of_wallet;
  INSERT INTO engine.ticket_witness (wallet, own_xid, database_oid)
  SELECT of_wallet, pg_current_xact_id()::xid, d.oid FROM pg_database d WHERE d.datname = current_database();
  -- All wallets share the observations, and another one may have been given the highest. Two that renew at once must not
  -- set the same number, so they wait for each other. A wallet with a witness takes no lock: its ceiling is far above its
  -- numbers.
  PERFORM pg_advisory_xact_lock(7246008);
  PERFORM setval('ledger.observations', c.ceiling)
     FROM (SELECT max(t.observation_ceiling) AS ceiling FROM ledger.request_tickets t) AS c, ledger.observations o
    WHERE c.ceiling > o.last_value;
  RETURN true;
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION engine.renew_ticket_witness IS 'True if the numbers of the wallet''s tickets may have gone back since its last request; then moves the observations ahead';
--> statement-breakpoint
CREATE OR REPLACE FUNCTION ledger.take_tickets(n integer, max_rps double precision, nonce_unit text, lane integer DEFAULT 1)
RETURNS TABLE(observation bigint, nonce bigint, wait_ms double precision, asked_ms double precision)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  of_wallet CONSTANT text := engine.wallet();
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
  shared record;
BEGIN
  SELECT * INTO STRICT ticket FROM engine.lock_tickets(of_wallet);
  now_at := clock_timestamp();
  IF engine.renew_ticket_witness(of_wallet) THEN
    -- Nonces that were given out since the state to which the database went back are behind the clock, or no further
    -- ahead of it than this.
    ticket.last_nonce := greatest(ticket.last_nonce, ticket.nonce_ceiling,
                                  floor(extract(epoch FROM now_at) * second)::bigint + 2 * nonce_step);
    hold := CASE WHEN slot > 0 THEN least(greatest(50 * slot, 1), 10) ELSE 0 END * (ticket.nonce_ceiling > 0)::integer;
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
  SELECT * INTO shared FROM engine.share_slots(lane, n, ahead, slot, ticket.lane_passed);
  UPDATE ledger.request_tickets
     SET last_nonce = first_nonce + shared.granted - 1, nonce_ceiling = ticket.nonce_ceiling,
         observation_ceiling = ticket.observation_ceiling,
         next_slot_at = CASE WHEN max_rps IS NULL THEN ticket.next_slot_at
                             ELSE now_at + make_interval(secs => ahead + shared.granted * slot) END,
         slot_seconds = CASE WHEN max_rps IS NULL THEN ticket.slot_seconds ELSE slot END,
         paused_until = ticket.paused_until, asked_at = now_at, lane_passed = shared.passed_after
   WHERE wallet = of_wallet AND id = 1;
  RETURN QUERY
    SELECT nextval('ledger.observations'),
           first_nonce + i,
           (ahead + i * slot) * 1000,
           (extract(epoch FROM now_at) * 1000)::double precision
      FROM generate_series(0, shared.granted - 1) AS i;
  IF shared.granted < n THEN
    RETURN QUERY SELECT NULL::bigint, NULL::bigint, (shared.back_in + random() * 0.015) * 1000,
                        (extract(epoch FROM now_at) * 1000)::double precision;
  END IF;
END $$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION ledger.pause_requests(pause_ms double precision)
RETURNS void
LANGUAGE sql
AS $$
  UPDATE ledger.request_tickets
     SET next_slot_at = next_slot_at - greatest(asked_at - c.now_at, interval '0'),
         paused_until = greatest(paused_until - greatest(asked_at - c.now_at, interval '0'),
                                 c.now_at + make_interval(secs => pause_ms / 1000)),
         asked_at = c.now_at
    FROM (SELECT clock_timestamp() AS now_at) AS c
   WHERE wallet = engine.wallet() AND id = 1
$$;
--> statement-breakpoint
COMMENT ON TABLE ledger.request_tickets IS 'One row per wallet: the request budget, the nonce and the pause, shared by all processes';
COMMENT ON TABLE engine.ticket_witness IS 'Unlogged: its row shows that ticket numbers were issued without a gap since the last start';
--> statement-breakpoint
CREATE OR REPLACE VIEW ledger.pool_levels AS
WITH RECURSIVE known (wallet, slip44) AS (
  (SELECT a.wallet, a.slip44 FROM ledger.addresses a ORDER BY a.wallet, a.slip44 LIMIT 1)
  UNION ALL
  SELECT n.wallet, n.slip44
    FROM known k
   CROSS JOIN LATERAL (SELECT a.wallet, a.slip44 FROM ledger.addresses a
                        WHERE (a.wallet, a.slip44) > (k.wallet, k.slip44)
                        ORDER BY a.wallet, a.slip44 LIMIT 1) AS n
),
chains AS (
  SELECT k.wallet, k.slip44 FROM known k
  UNION
  SELECT p.wallet, p.slip44 FROM ledger.pools p
)
SELECT c.slip44,
       (SELECT count(*) FROM ledger.addresses a
         WHERE a.wallet = c.wallet AND a.slip44 = c.slip44 AND a.status = 'available') AS available,
       (SELECT count(*) FROM ledger.addresses a
         WHERE a.wallet = c.wallet AND a.slip44 = c.slip44 AND a.status = 'assigned') AS assigned,
       (SELECT count(*) FROM ledger.addresses a
         WHERE a.wallet = c.wallet AND a.slip44 = c.slip44 AND a.status = 'used') AS used,
       p.threshold,
       p.target,
       (SELECT coalesce(sum(greatest(r.num, r.received)), 0) FROM ledger.address_requests r
         WHERE r.wallet = c.wallet AND r.slip44 = c.slip44 AND r.state <> 'failed'
           AND (r.state IN ('sent', 'unknown') OR r.requested_at > now() - interval '24 hours 10 minutes')) AS generated_24h,
       (SELECT round((SELECT count(*) FROM ledger.addresses a
                       WHERE a.wallet = c.wallet AND a.slip44 = c.slip44 AND a.status = 'available') * 7.0
                     / nullif(count(*), 0), 1)
          FROM ledger.addresses u
         WHERE u.wallet = c.wallet AND u.slip44 = c.slip44 AND u.assigned_at > now() - interval '7 days') AS days_left,
       (SELECT count(*) FROM ledger.addresses a
         WHERE a.wallet = c.wallet AND a.slip44 = c.slip44 AND a.status = 'foreign') AS foreign_addresses,
       c.wallet
  FROM chains c LEFT JOIN ledger.pools p ON p.wallet = c.wallet AND p.slip44 = c.slip44;
--> statement-breakpoint
COMMENT ON COLUMN ledger.pool_levels.wallet IS 'Wallet that the row belongs to';
--> statement-breakpoint
-- For each wallet by itself: the deposits of one do not use up the bound of another, and a question about one wallet
-- reads no other's.
CREATE OR REPLACE VIEW ledger.unexpected_deposits AS
SELECT x.order_no, x.symbol, x.amount, x.to_address, x.kind, x.is_suspicious, x.occurred_at, w.wallet
  FROM engine.wallet_names w
 CROSS JOIN LATERAL (
  WITH deposits AS MATERIALIZED (
    SELECT t.order_no, t.symbol, t.amount, t.to_address, t.occurred_at
      FROM ledger.transactions t
     WHERE t.wallet = w.wallet AND t.stream = 'deposit' AND t.is_listed AND t.to_address IS NOT NULL
       AND t.occurred_at > now() - interval '7 days'
     ORDER BY t.occurred_at DESC LIMIT 2000
  ),
  first_proofs AS MATERIALIZED (
    SELECT p.slip44, (SELECT min(s.observed_at) FROM ledger.stream_proofs s
                       WHERE s.wallet = w.wallet AND s.name = 'addresses:' || p.slip44 AND s.is_complete) AS at
      FROM ledger.pools p WHERE p.wallet = w.wallet
  ),
  unexpected AS MATERIALIZED (
    SELECT d.order_no, d.symbol, d.amount, d.to_address, d.occurred_at
      FROM deposits d
      LEFT JOIN LATERAL (SELECT true AS is_ours FROM ledger.addresses l
                          WHERE l.wallet = w.wallet AND l.address_key = ledger.address_key(d.to_address) AND l.status <> 'foreign'
                            AND (l.status <> 'used' OR l.generated_by IS NOT NULL OR l.assigned_at IS NOT NULL)
                          LIMIT 1) AS o ON true
     WHERE o.is_ours IS NULL
  ),
  read_symbols AS MATERIALIZED (
    SELECT c.symbol, bool_and(coalesce(s.is_backed, false)) AS is_read
      FROM ledger.coins c
      LEFT JOIN ledger.pools p ON p.wallet = c.wallet AND p.slip44 = c.slip44
      LEFT JOIN ledger.streams s ON s.wallet = c.wallet AND s.name = 'addresses:' || p.slip44
     WHERE c.wallet = w.wallet
     GROUP BY c.symbol
  )
  SELECT u.order_no, u.symbol, u.amount, u.to_address,
         CASE WHEN k.addresses > 0 THEN 'foreign' ELSE 'unknown' END AS kind,
         CASE WHEN k.addresses > 0 THEN k.is_later ELSE coalesce(r.is_read, false) END AS is_suspicious,
         u.occurred_at
    FROM unexpected u
   CROSS JOIN LATERAL (
      SELECT count(*) AS addresses, coalesce(bool_or(l.first_seen_at > f.at), false) AS is_later
        FROM ledger.addresses l LEFT JOIN first_proofs f ON f.slip44 = l.slip44
       WHERE l.wallet = w.wallet AND l.address_key = ledger.address_key(u.to_address)) AS k
    LEFT JOIN read_symbols r ON r.symbol = u.symbol) AS x;
--> statement-breakpoint
COMMENT ON COLUMN ledger.unexpected_deposits.wallet IS 'Wallet that the row belongs to';
--> statement-breakpoint
SELECT engine.make_own_views();
--> statement-breakpoint
SELECT engine.settle_rights();
