-- Spaces around an address and the prefix of a cashaddr text are not part of it; a tag behind a colon is. Apart, because
-- few addresses come here.
CREATE FUNCTION ledger.trimmed_address_key(address text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  bare text := regexp_replace(btrim(address, E' \t\r\n\f\v'), '^(bitcoincash|bchtest|bchreg|ecash|ectest|simpleledger|slptest|etoken):', '', 'i');
BEGIN
  IF bare ~ '^(0[xX])?[0-9a-fA-F]+$' THEN RETURN replace(lower(bare COLLATE "C"), '0x', ''); END IF;
  IF lower(bare COLLATE "C") <> bare AND upper(bare COLLATE "C") <> bare THEN RETURN bare; END IF;
  RETURN lower(bare COLLATE "C");
END $$;
--> statement-breakpoint
-- One key for all spellings of an address. Hexadecimal digits are the same in either case, with 0x or without; base32
-- and bech32 texts are written in one case; base58 means both cases. Nothing depends on the database's locale. It is
-- computed twice for each deposit that is stored: cheap, and written so that the planner puts it in place of the call.
CREATE FUNCTION ledger.address_key(address text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
SELECT CASE
  WHEN address ~ '^(0[xX])?[0-9a-fA-F]+$' THEN replace(lower(address COLLATE "C"), '0x', '')
  WHEN address ~ '[\s:]' THEN ledger.trimmed_address_key(address)
  WHEN lower(address COLLATE "C") <> address AND upper(address COLLATE "C") <> address THEN address
  ELSE lower(address COLLATE "C")
END
$$;
--> statement-breakpoint
CREATE TABLE "ledger"."address_conflicts" (
	"slip44" integer NOT NULL,
	"address" text NOT NULL,
	"address_key" text NOT NULL,
	"assigned_to" text,
	"assigned_at" timestamp with time zone,
	"noticed_at" timestamp with time zone NOT NULL,
	CONSTRAINT "address_conflicts_address_key_slip44_address_pk" PRIMARY KEY("address_key","slip44","address")
);
--> statement-breakpoint
CREATE TABLE "engine"."merged_addresses" (
	"slip44" integer NOT NULL,
	"address" text NOT NULL,
	"address_key" text NOT NULL,
	"facts" jsonb NOT NULL,
	CONSTRAINT "merged_addresses_slip44_address_pk" PRIMARY KEY("slip44","address")
);
--> statement-breakpoint
DROP INDEX "ledger"."addresses_address";--> statement-breakpoint
DROP INDEX "ledger"."addresses_assigned_to";--> statement-breakpoint
DROP INDEX "ledger"."transactions_deposit_address";--> statement-breakpoint
ALTER TABLE "ledger"."addresses" DROP CONSTRAINT "addresses_slip44_address_pk";--> statement-breakpoint
ALTER TABLE "ledger"."address_requests" ADD COLUMN "lost_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "ledger"."address_requests" ADD COLUMN "answer" text[];--> statement-breakpoint
ALTER TABLE "ledger"."addresses" ADD COLUMN "address_key" text GENERATED ALWAYS AS (ledger.address_key(address)) STORED NOT NULL;--> statement-breakpoint
ALTER TABLE "ledger"."addresses" ADD COLUMN "assigned_no" integer;--> statement-breakpoint
ALTER TABLE "ledger"."addresses" ADD COLUMN "first_deposit_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "ledger"."addresses" ADD COLUMN "listed_as" text[] DEFAULT '{}' NOT NULL;--> statement-breakpoint
-- The stored ones are checked below.
ALTER TABLE "ledger"."addresses" ADD COLUMN "unchecked_until" "xid8";--> statement-breakpoint
ALTER TABLE "ledger"."addresses" ALTER COLUMN "unchecked_until" SET DEFAULT '0';--> statement-breakpoint
ALTER TABLE "ledger"."pools" ADD COLUMN "losses" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "ledger"."pools" ADD COLUMN "chain_filter" text;--> statement-breakpoint
ALTER TABLE "ledger"."pools" ADD COLUMN "chain_param" text;--> statement-breakpoint
ALTER TABLE "ledger"."pools" ADD COLUMN "chain_filter_at" timestamp with time zone;--> statement-breakpoint
-- Of several rows for one address the one stays that promises most: handed out, then used, then foreign.
CREATE TABLE engine.address_ranks AS
SELECT a.slip44, a.address, a.address_key, a.assigned_to, a.assigned_at,
       row_number() OVER w AS rank, first_value(a.assigned_to) OVER w AS kept_for, first_value(a.assigned_at) OVER w AS kept_at
  FROM ledger.addresses a
  JOIN (SELECT slip44, address_key FROM ledger.addresses GROUP BY slip44, address_key HAVING count(*) > 1) AS d USING (slip44, address_key)
WINDOW w AS (PARTITION BY a.slip44, a.address_key
             ORDER BY a.assigned_at IS NULL, CASE a.status WHEN 'assigned' THEN 1 WHEN 'used' THEN 2 WHEN 'foreign' THEN 3 ELSE 4 END,
                      a.assigned_at, a.first_seen_at, a.address);
--> statement-breakpoint
-- Two holders of one address: on one chain in two spellings, or on two chains.
INSERT INTO ledger.address_conflicts (slip44, address, address_key, assigned_to, assigned_at, noticed_at)
SELECT a.slip44, a.address, a.address_key, a.assigned_to, a.assigned_at, now()
  FROM ledger.addresses a
  JOIN (SELECT address_key FROM ledger.addresses WHERE assigned_at IS NOT NULL GROUP BY address_key
        HAVING count(DISTINCT assigned_to) + count(*) FILTER (WHERE assigned_to IS NULL) > 1) AS c USING (address_key)
 WHERE a.assigned_at IS NOT NULL;
--> statement-breakpoint
INSERT INTO engine.merged_addresses (slip44, address, address_key, facts)
SELECT a.slip44, a.address, a.address_key, to_jsonb(a) - '{slip44,address,address_key,assigned_no,first_deposit_at,listed_as,unchecked_until}'::text[]
  FROM ledger.addresses a JOIN engine.address_ranks r USING (slip44, address)
 WHERE r.rank > 1;
--> statement-breakpoint
ALTER TABLE ledger.addresses DISABLE TRIGGER addresses_deleted;
--> statement-breakpoint
DELETE FROM ledger.addresses a USING engine.address_ranks r WHERE r.rank > 1 AND a.slip44 = r.slip44 AND a.address = r.address;
--> statement-breakpoint
ALTER TABLE ledger.addresses ENABLE TRIGGER addresses_deleted;
--> statement-breakpoint
-- Which of the spellings the list shows is not known any more: the next pass reads the whole list again and counts.
UPDATE ledger.streams s
   SET ledger_count = c.count, checkpoint = NULL, is_backed = false, accepted_difference = 0, doubt = NULL,
       lease_owner = NULL, lease_until = NULL
  FROM (SELECT a.slip44, count(*) AS count FROM ledger.addresses a
         WHERE a.slip44 IN (SELECT r.slip44 FROM engine.address_ranks r) GROUP BY a.slip44) AS c
 WHERE s.name = 'addresses:' || c.slip44;
--> statement-breakpoint
SET CONSTRAINTS ledger.streams_proof IMMEDIATE;
--> statement-breakpoint
DROP TABLE engine.address_ranks;
--> statement-breakpoint
UPDATE ledger.addresses SET assigned_no = 1 WHERE assigned_to IS NOT NULL;
--> statement-breakpoint
-- What has been handed out on one chain is nobody else's on another.
UPDATE ledger.addresses a
   SET status = CASE WHEN h.holders = 1 THEN 'assigned' ELSE 'foreign' END,
       assigned_to = CASE WHEN h.holders = 1 THEN h.assigned_to END,
       assigned_at = CASE WHEN h.holders = 1 THEN h.assigned_at END
  FROM (SELECT address_key, min(assigned_to) AS assigned_to, min(assigned_at) AS assigned_at,
               count(DISTINCT assigned_to) + count(*) FILTER (WHERE assigned_to IS NULL) AS holders
          FROM ledger.addresses WHERE assigned_at IS NOT NULL GROUP BY address_key) AS h
 WHERE a.address_key = h.address_key AND a.status = 'available';
--> statement-breakpoint
ALTER TABLE "ledger"."addresses" ADD CONSTRAINT "addresses_slip44_address_key_pk" PRIMARY KEY("slip44","address_key");--> statement-breakpoint
CREATE INDEX "addresses_address_key" ON "ledger"."addresses" USING btree ("address_key");--> statement-breakpoint
CREATE INDEX "addresses_first_deposit" ON "ledger"."addresses" USING btree ("first_deposit_order_no") WHERE "ledger"."addresses"."first_deposit_order_no" is not null;--> statement-breakpoint
CREATE INDEX "addresses_unchecked" ON "ledger"."addresses" USING btree ("unchecked_until") WHERE "ledger"."addresses"."unchecked_until" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "addresses_assigned_to" ON "ledger"."addresses" USING btree ("slip44","assigned_to","assigned_no") WHERE "ledger"."addresses"."assigned_to" is not null;--> statement-breakpoint
CREATE INDEX "transactions_deposit_address" ON "ledger"."transactions" USING btree (ledger.address_key("to_address")) WHERE "ledger"."transactions"."stream" = 'deposit';
--> statement-breakpoint
-- What the status of an address is by its deposits. An available one with a deposit that does not count is somebody's.
CREATE FUNCTION engine.status_by_use(status text, is_handed_out boolean, has_deposit boolean, is_used boolean) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
SELECT CASE WHEN is_used THEN 'used' WHEN is_handed_out THEN 'assigned'
            WHEN status = 'used' OR status = 'available' AND has_deposit THEN 'foreign' ELSE status END
$$;
--> statement-breakpoint
-- The idempotent statement that marks use: it locks the addresses first, in the order in which every writer does, and
-- then reads their deposits, each by the index on its key, whatever the statistics say.
CREATE FUNCTION engine.recount_use(keys text[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
  PERFORM 1 FROM ledger.addresses a WHERE a.address_key = ANY (keys) ORDER BY a.address_key, a.slip44 FOR UPDATE;
  UPDATE ledger.addresses a
     SET status = engine.status_by_use(a.status, a.assigned_at IS NOT NULL, d.has_any, d.order_no IS NOT NULL),
         first_deposit_order_no = d.order_no, first_deposit_at = d.occurred_at
    FROM (SELECT DISTINCT k FROM unnest(keys) AS k) AS u
   CROSS JOIN LATERAL (
      SELECT count(*) > 0 AS has_any,
             (array_agg(t.order_no ORDER BY t.occurred_at, t.order_no) FILTER (WHERE t.counts))[1] AS order_no,
             (array_agg(t.occurred_at ORDER BY t.occurred_at, t.order_no) FILTER (WHERE t.counts))[1] AS occurred_at
        FROM (SELECT x.order_no, x.occurred_at, EXISTS (SELECT FROM ledger.final_states f WHERE f.is_success AND f.state = lower(btrim(x.state))) AS counts
                FROM ledger.transactions x
               WHERE x.stream = 'deposit' AND ledger.address_key(x.to_address) = u.k OFFSET 0) AS t) AS d
   WHERE a.address_key = u.k
     AND (a.first_deposit_order_no, a.first_deposit_at, a.status)
         IS DISTINCT FROM (d.order_no, d.occurred_at,
                           engine.status_by_use(a.status, a.assigned_at IS NOT NULL, d.has_any, d.order_no IS NOT NULL));
END $$;
--> statement-breakpoint
-- The same for all addresses at once: after a change of the states that count.
CREATE FUNCTION engine.recount_all_use() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM 1 FROM ledger.addresses a ORDER BY a.address_key, a.slip44 FOR UPDATE;
  UPDATE ledger.addresses a
     SET status = engine.status_by_use(a.status, a.assigned_at IS NOT NULL, d.has_any, d.order_no IS NOT NULL),
         first_deposit_order_no = d.order_no, first_deposit_at = d.occurred_at
    FROM (SELECT x.address_key, count(t.order_no) > 0 AS has_any,
                 (array_agg(t.order_no ORDER BY t.occurred_at, t.order_no) FILTER (WHERE f.is_success))[1] AS order_no,
                 (array_agg(t.occurred_at ORDER BY t.occurred_at, t.order_no) FILTER (WHERE f.is_success))[1] AS occurred_at
            FROM (SELECT DISTINCT y.address_key FROM ledger.addresses y) AS x
            LEFT JOIN ledger.transactions t ON t.stream = 'deposit' AND ledger.address_key(t.to_address) = x.address_key
            LEFT JOIN ledger.final_states f ON f.state = lower(btrim(t.state))
           GROUP BY x.address_key) AS d
   WHERE a.address_key = d.address_key
     AND (a.first_deposit_order_no, a.first_deposit_at, a.status)
         IS DISTINCT FROM (d.order_no, d.occurred_at,
                           engine.status_by_use(a.status, a.assigned_at IS NOT NULL, d.has_any, d.order_no IS NOT NULL));
END $$;
--> statement-breakpoint
-- Deposits mark their addresses, on every chain that has them, whoever writes the rows. Addresses are locked in order.
CREATE FUNCTION engine.note_deposits() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  -- The first history is stored before the first address.
  IF NOT EXISTS (SELECT FROM ledger.addresses) THEN RETURN NULL; END IF;
  WITH deposits AS MATERIALIZED (
    SELECT DISTINCT ON (n.key) n.key, n.counts, n.occurred_at, n.order_no
      FROM (SELECT DISTINCT ON (x.to_address)
                   ledger.address_key(x.to_address) AS key, f.state IS NOT NULL AS counts, x.occurred_at, x.order_no
              FROM new_rows x
              LEFT JOIN ledger.final_states f ON f.is_success AND f.state = lower(btrim(x.state))
             WHERE x.stream = 'deposit' AND x.to_address IS NOT NULL
             ORDER BY x.to_address, f.state IS NOT NULL DESC, x.occurred_at, x.order_no) AS n
     ORDER BY n.key, n.counts DESC, n.occurred_at, n.order_no),
  touched AS (
    SELECT a.slip44, a.address_key, d.counts, d.occurred_at, d.order_no
      FROM deposits d JOIN ledger.addresses a ON a.address_key = d.key
     WHERE CASE WHEN d.counts THEN a.first_deposit_order_no IS NULL OR (coalesce(d.occurred_at, 'infinity'), d.order_no)
                                     < (coalesce(a.first_deposit_at, 'infinity'), a.first_deposit_order_no)
                ELSE a.status = 'available' END
     ORDER BY a.address_key, a.slip44 FOR UPDATE OF a)
  UPDATE ledger.addresses a
     SET status = engine.status_by_use(a.status, a.assigned_at IS NOT NULL, true, t.counts),
         first_deposit_order_no = CASE WHEN t.counts THEN t.order_no END,
         first_deposit_at = CASE WHEN t.counts THEN t.occurred_at END
    FROM touched t
   WHERE a.slip44 = t.slip44 AND a.address_key = t.address_key
     AND CASE WHEN t.counts THEN a.first_deposit_order_no IS NULL OR (coalesce(t.occurred_at, 'infinity'), t.order_no)
                                   < (coalesce(a.first_deposit_at, 'infinity'), a.first_deposit_order_no)
              ELSE a.status = 'available' END;
  RETURN NULL;
END $$;
--> statement-breakpoint
-- Per row, because few rows reach it. Only where the first deposit of an address is another one now are the deposits of
-- that address read.
CREATE FUNCTION engine.note_changed_deposit() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  key text := CASE WHEN NEW.stream = 'deposit' THEN ledger.address_key(NEW.to_address) END;
  counts boolean := key IS NOT NULL
    AND EXISTS (SELECT FROM ledger.final_states f WHERE f.is_success AND f.state = lower(btrim(NEW.state)));
  passed_over text[];
BEGIN
  SELECT array_agg(a.address_key) INTO passed_over FROM ledger.addresses a
   WHERE a.first_deposit_order_no = NEW.order_no
     AND NOT (counts AND a.address_key = key AND a.first_deposit_at IS NOT DISTINCT FROM NEW.occurred_at);
  IF passed_over IS NOT NULL THEN
    PERFORM engine.recount_use(passed_over || key);
  ELSIF key IS NOT NULL THEN
    PERFORM 1 FROM ledger.addresses a
      WHERE a.address_key = key
        AND CASE WHEN counts THEN a.first_deposit_order_no IS NULL OR (coalesce(NEW.occurred_at, 'infinity'), NEW.order_no)
                                   < (coalesce(a.first_deposit_at, 'infinity'), a.first_deposit_order_no)
                 ELSE a.status = 'available' END
      ORDER BY a.slip44 FOR UPDATE;
    IF FOUND THEN
      UPDATE ledger.addresses a
         SET status = engine.status_by_use(a.status, a.assigned_at IS NOT NULL, true, counts),
             first_deposit_order_no = CASE WHEN counts THEN NEW.order_no END,
             first_deposit_at = CASE WHEN counts THEN NEW.occurred_at END
       WHERE a.address_key = key
         AND CASE WHEN counts THEN a.first_deposit_order_no IS NULL OR (coalesce(NEW.occurred_at, 'infinity'), NEW.order_no)
                                    < (coalesce(a.first_deposit_at, 'infinity'), a.first_deposit_order_no)
                  ELSE a.status = 'available' END;
    END IF;
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
SELECT engine.recount_all_use();
--> statement-breakpoint
CREATE TRIGGER transactions_deposited AFTER INSERT ON ledger.transactions
  REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION engine.note_deposits();
--> statement-breakpoint
CREATE TRIGGER transactions_deposit_changed AFTER UPDATE ON ledger.transactions
  FOR EACH ROW WHEN ((OLD.stream = 'deposit' OR NEW.stream = 'deposit')
                 AND (OLD.state IS DISTINCT FROM NEW.state OR OLD.to_address IS DISTINCT FROM NEW.to_address
                   OR OLD.occurred_at IS DISTINCT FROM NEW.occurred_at OR OLD.stream <> NEW.stream))
  EXECUTE FUNCTION engine.note_changed_deposit();
--> statement-breakpoint
-- Who holds the address on any chain: one row where it has been handed out, none where it is free.
CREATE FUNCTION engine.holder_of(key text) RETURNS TABLE (assigned_to text, assigned_at timestamptz, holders bigint)
LANGUAGE sql STABLE AS $$
SELECT min(a.assigned_to), min(a.assigned_at), count(DISTINCT a.assigned_to) + least(1, count(*) FILTER (WHERE a.assigned_to IS NULL))
  FROM ledger.addresses a WHERE a.address_key = key AND a.assigned_at IS NOT NULL
HAVING count(*) > 0
$$;
--> statement-breakpoint
-- A new address and a deposit or a taking that are stored at the same moment do not see each other. Every transaction
-- that could have missed a new address was under way when it was first seen committed: once all of those have ended,
-- one more look is enough. Call it in a transaction of its own; returns how many addresses were due.
CREATE FUNCTION engine.check_new_addresses() RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
  oldest xid8 := pg_snapshot_xmin(pg_current_snapshot());
  due bigint;
  keys text[];
BEGIN
  -- Those that must wait are looked at all the same, the latest first: most have nothing to wait for.
  SELECT array_agg(x.address_key), count(*) FILTER (WHERE x.is_due) INTO keys, due
    FROM ((SELECT a.address_key, true AS is_due FROM ledger.addresses a
            WHERE a.unchecked_until <= oldest ORDER BY a.unchecked_until LIMIT 2000)
          UNION ALL
          (SELECT a.address_key, false FROM ledger.addresses a
            WHERE a.unchecked_until > oldest ORDER BY a.unchecked_until DESC LIMIT 500)) AS x;
  IF keys IS NULL THEN RETURN 0; END IF;
  PERFORM engine.recount_use(keys);
  UPDATE ledger.addresses a
     SET status = CASE WHEN h.holders = 1 THEN 'assigned' ELSE 'foreign' END,
         assigned_to = CASE WHEN h.holders = 1 THEN h.assigned_to END,
         assigned_at = CASE WHEN h.holders = 1 THEN h.assigned_at END
    FROM unnest(keys) AS k CROSS JOIN LATERAL engine.holder_of(k) AS h
   WHERE a.address_key = k AND a.status = 'available';
  UPDATE ledger.addresses a
     SET unchecked_until = CASE WHEN a.unchecked_until = '0' THEN pg_snapshot_xmax(pg_current_snapshot()) END
   WHERE a.address_key = ANY (keys) AND a.unchecked_until <= oldest;
  RETURN due;
END $$;
--> statement-breakpoint
-- Of the keys those without any deposit, each looked up by the index, whatever the statistics say.
CREATE FUNCTION engine.without_deposit(keys text[]) RETURNS SETOF text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
  RETURN QUERY
  SELECT u.k FROM unnest(keys) AS u (k)
   WHERE (SELECT count(*) FROM (SELECT FROM ledger.transactions t
                                 WHERE t.stream = 'deposit' AND ledger.address_key(t.to_address) = u.k LIMIT 1) AS d) = 0;
END $$;
--> statement-breakpoint
-- The oldest available address, going on behind the one that was handed out last: what was handed out leaves dead
-- index entries behind, and they are not walked through again and again. When none is left behind it, from the start.
-- Rows that another call holds are passed over. An address that other chains have, too, is taken on all of them: their
-- rows are locked without waiting, so that two calls that meet on one address never wait for each other; the one that
-- is too late gives its row back and goes on behind it. Of two calls with one new reference one loses on the unique
-- index addresses_assigned_to and finds the other's address. Two settings keep the plan on the indexes.
CREATE FUNCTION engine.hand_out(slip44 integer, reference text, is_further boolean) RETURNS text
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
  PERFORM engine.require_home();
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
--> statement-breakpoint
-- Replaced, not made anew: whoever may call it keeps the right.
CREATE OR REPLACE FUNCTION ledger.take_address(slip44 integer, reference text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN engine.hand_out(slip44, reference, false);
END $$;
--> statement-breakpoint
CREATE FUNCTION ledger.take_further_address(slip44 integer, reference text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN engine.hand_out(slip44, reference, true);
END $$;
--> statement-breakpoint
CREATE FUNCTION engine.require_wallet(wallet text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  IF wallet IS DISTINCT FROM 'main' THEN
    RAISE EXCEPTION 'there is no wallet named %: the only one is main', coalesce(quote_literal(wallet), 'null')
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
END $$;
--> statement-breakpoint
CREATE FUNCTION ledger.take_address(wallet text, slip44 integer, reference text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM engine.require_wallet(wallet);
  RETURN engine.hand_out(slip44, reference, false);
END $$;
--> statement-breakpoint
CREATE FUNCTION ledger.take_further_address(wallet text, slip44 integer, reference text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM engine.require_wallet(wallet);
  RETURN engine.hand_out(slip44, reference, true);
END $$;
--> statement-breakpoint
REVOKE EXECUTE ON FUNCTION ledger.take_address(text, integer, text), ledger.take_further_address(integer, text),
  ledger.take_further_address(text, integer, text), engine.note_deposits(), engine.note_changed_deposit() FROM PUBLIC;
--> statement-breakpoint
-- Whoever may take addresses may use the new functions.
DO $$
DECLARE issuer text;
BEGIN
  FOR issuer IN
    SELECT a.grantee::regrole::text FROM pg_proc p CROSS JOIN LATERAL aclexplode(p.proacl) AS a
     WHERE p.oid = 'ledger.take_address(integer, text)'::regprocedure AND a.grantee NOT IN (0, p.proowner)
  LOOP
    EXECUTE format('GRANT EXECUTE ON FUNCTION ledger.take_address(text, integer, text), ledger.take_further_address(integer, text), '
                   'ledger.take_further_address(text, integer, text) TO %s', issuer);
  END LOOP;
END $$;
--> statement-breakpoint
-- The chains of ledger.addresses cost one index probe each, and columns that nobody asks for are not counted.
CREATE OR REPLACE VIEW ledger.pool_levels AS
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
       -- A request may still be carried out some minutes after it was written down.
       (SELECT coalesce(sum(greatest(r.num, r.received)), 0)
          FROM ledger.address_requests r
         WHERE r.slip44 = c.slip44 AND r.state <> 'failed'
           AND (r.state IN ('sent', 'unknown') OR r.requested_at > now() - interval '24 hours 10 minutes')) AS generated_24h,
       (SELECT round(
                 (SELECT count(*) FROM ledger.addresses a WHERE a.slip44 = c.slip44 AND a.status = 'available')
                   * 7.0 / nullif(count(*), 0), 1)
          FROM ledger.addresses u
         WHERE u.slip44 = c.slip44 AND u.assigned_at > now() - interval '7 days') AS days_left,
       (SELECT count(*) FROM ledger.addresses a WHERE a.slip44 = c.slip44 AND a.status = 'foreign') AS foreign_addresses
  FROM chains c
  LEFT JOIN ledger.pools p ON p.slip44 = c.slip44;
--> statement-breakpoint
CREATE OR REPLACE VIEW ledger.unexpected_deposits AS
WITH deposits AS MATERIALIZED (
  SELECT t.order_no, t.symbol, t.amount, t.to_address, t.occurred_at
    FROM ledger.transactions t
   WHERE t.stream = 'deposit' AND t.is_listed AND t.to_address IS NOT NULL AND t.occurred_at > now() - interval '7 days'
   ORDER BY t.occurred_at DESC
   LIMIT 2000
),
first_proofs AS MATERIALIZED (
  SELECT p.slip44,
         (SELECT min(s.observed_at) FROM ledger.stream_proofs s WHERE s.name = 'addresses:' || p.slip44 AND s.is_complete) AS at
    FROM ledger.pools p
),
unexpected AS MATERIALIZED (
  SELECT d.*
    FROM deposits d
    LEFT JOIN LATERAL (
      SELECT true AS is_ours FROM ledger.addresses l
       WHERE l.address_key = ledger.address_key(d.to_address) AND l.status <> 'foreign'
         AND (l.status <> 'used' OR l.generated_by IS NOT NULL OR l.assigned_at IS NOT NULL)
       LIMIT 1) AS o ON true
   WHERE o.is_ours IS NULL
),
-- A deposit does not name its chain. Whether an address is of no list is known of coins whose chains' lists were all read.
read_symbols AS MATERIALIZED (
  SELECT c.symbol, bool_and(coalesce(s.is_backed, false)) AS is_read
    FROM ledger.coins c
    LEFT JOIN ledger.pools p ON p.slip44 = c.slip44
    LEFT JOIN ledger.streams s ON s.name = 'addresses:' || p.slip44
   GROUP BY c.symbol
)
SELECT u.order_no, u.symbol, u.amount, u.to_address, CASE WHEN k.addresses > 0 THEN 'foreign' ELSE 'unknown' END AS kind,
       CASE WHEN k.addresses > 0 THEN k.is_later ELSE coalesce(r.is_read, false) END AS is_suspicious, u.occurred_at
  FROM unexpected u
 CROSS JOIN LATERAL (
   SELECT count(*) AS addresses, coalesce(bool_or(l.first_seen_at > f.at), false) AS is_later
     FROM ledger.addresses l LEFT JOIN first_proofs f ON f.slip44 = l.slip44
    WHERE l.address_key = ledger.address_key(u.to_address)) AS k
  LEFT JOIN read_symbols r ON r.symbol = u.symbol;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION ledger.reconcile_assets(balances_read_at timestamptz)
RETURNS TABLE (slip44 integer, symbol text, contract_address text, deposits numeric, withdrawals numeric, fees numeric,
               expected numeric, reported numeric, difference numeric, is_explained boolean, explanation text,
               open_amount numeric, unassigned numeric)
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
WITH coin AS MATERIALIZED (SELECT * FROM ledger.reconcile(balances_read_at)),
asset AS MATERIALIZED (
  SELECT a.*, count(*) OVER (PARTITION BY a.symbol) > 1 AS is_shared,
         count(*) OVER (PARTITION BY a.symbol, a.slip44) = 1 AS is_alone
    FROM (SELECT b.slip44, b.symbol, b.contract_address FROM ledger.balances b
          UNION SELECT c.slip44, c.symbol, c.contract_address FROM ledger.coins c) AS a
),
main AS (
  SELECT a.symbol, min(a.slip44) AS slip44 FROM asset a WHERE a.contract_address = '' GROUP BY a.symbol HAVING count(*) = 1
),
home AS (
  SELECT a.address_key AS address, min(a.slip44) AS slip44
    FROM ledger.addresses a
   WHERE EXISTS (SELECT FROM asset WHERE is_shared)
   GROUP BY a.address_key HAVING min(a.slip44) = max(a.slip44)
),
received AS (
  SELECT ledger.address_key(t.to_address) AS address, t.symbol, t.state, sum(t.amount) AS amount
    FROM ledger.transactions t
   WHERE t.is_listed AND t.stream = 'deposit' AND t.symbol IN (SELECT a.symbol FROM asset a WHERE a.is_shared)
   GROUP BY ledger.address_key(t.to_address), t.symbol, t.state
),
sent AS (
  SELECT t.fee_symbol, t.symbol, t.state, sum(t.amount) AS amount
    FROM ledger.transactions t
   WHERE t.is_listed AND t.stream = 'withdraw' AND t.symbol IN (SELECT a.symbol FROM asset a WHERE a.is_shared)
   GROUP BY t.fee_symbol, t.symbol, t.state
),
part AS MATERIALIZED (
  SELECT r.symbol, a.slip44, sum(r.amount_in) AS deposits, sum(r.amount_out) AS withdrawals
    FROM (SELECT d.symbol, h.slip44, d.state, d.amount AS amount_in, 0 AS amount_out
            FROM received d LEFT JOIN home h ON h.address = d.address
          UNION ALL
          SELECT w.symbol, m.slip44, w.state, 0, w.amount FROM sent w LEFT JOIN main m ON m.symbol = w.fee_symbol) AS r
    LEFT JOIN asset a ON a.symbol = r.symbol AND a.slip44 = r.slip44 AND a.is_alone
   WHERE lower(btrim(r.state)) IN (SELECT f.state FROM ledger.final_states f WHERE f.is_success)
   GROUP BY r.symbol, a.slip44
),
unknown AS (
  SELECT c.symbol, coalesce(p.deposits, 0) AS deposits, coalesce(p.withdrawals, 0) AS withdrawals,
         CASE WHEN m.symbol IS NULL THEN c.fees ELSE 0 END AS fees
    FROM coin c
    LEFT JOIN part p ON p.symbol = c.symbol AND p.slip44 IS NULL
    LEFT JOIN main m ON m.symbol = c.symbol
),
compared AS (
  SELECT a.slip44, a.symbol, a.contract_address, a.is_shared, c.is_explained, c.explanation, c.open_amount,
         s.deposits, s.withdrawals, s.fees, s.deposits - s.withdrawals - s.fees AS expected, s.reported,
         s.reported - (s.deposits - s.withdrawals - s.fees) AS difference,
         CASE WHEN a.is_shared THEN u.deposits - u.withdrawals - u.fees ELSE 0 END AS unassigned,
         abs(u.deposits) AS unassigned_in, abs(u.withdrawals) + abs(u.fees) AS unassigned_out
    FROM asset a
    JOIN coin c ON c.symbol = a.symbol
    JOIN unknown u ON u.symbol = a.symbol
    LEFT JOIN part p ON p.symbol = a.symbol AND p.slip44 = a.slip44 AND a.is_alone
    LEFT JOIN main m ON m.symbol = a.symbol AND m.slip44 = a.slip44 AND a.contract_address = ''
    LEFT JOIN ledger.balances b ON b.is_listed AND b.slip44 = a.slip44 AND b.symbol = a.symbol
                               AND b.contract_address = a.contract_address
   CROSS JOIN LATERAL (
      SELECT CASE WHEN a.is_shared THEN coalesce(p.deposits, 0) ELSE c.deposits END AS deposits,
             CASE WHEN a.is_shared THEN coalesce(p.withdrawals, 0) ELSE c.withdrawals END AS withdrawals,
             CASE WHEN a.is_shared AND m.symbol IS NULL THEN 0 ELSE c.fees END AS fees,
             CASE WHEN a.is_shared THEN coalesce(b.balance, 0) ELSE c.reported END AS reported) AS s
),
weighed AS MATERIALIZED (
  SELECT c.*, abs(c.difference) <= x.unassigned AS is_unassigned,
         c.open_amount IS NULL OR abs(c.difference) <= x.unassigned + c.open_amount AS is_payable
    FROM compared c
   CROSS JOIN LATERAL (SELECT CASE WHEN c.difference > 0 THEN c.unassigned_in ELSE c.unassigned_out END) AS x (unassigned)
)
SELECT w.slip44, w.symbol, w.contract_address, w.deposits, w.withdrawals, w.fees, w.expected, w.reported, w.difference,
       CASE WHEN w.is_shared THEN w.difference = 0 OR w.is_unassigned OR w.is_payable AND s.standing IS NULL
            ELSE w.is_explained END,
       CASE WHEN NOT w.is_shared THEN w.explanation
            WHEN w.difference = 0 THEN NULL
            WHEN w.is_unassigned THEN 'transactions whose chain is not known: ' || w.unassigned
            WHEN NOT w.is_payable THEN 'more than is open or of an unknown chain: ' || w.open_amount || ', ' || w.unassigned
            ELSE coalesce(s.standing, 'open: ' || coalesce(w.open_amount::text, 'an amount that is not known')) END,
       w.open_amount, w.unassigned
  FROM weighed w
 CROSS JOIN LATERAL (
    SELECT CASE WHEN w.is_shared AND w.difference <> 0 AND NOT w.is_unassigned AND w.is_payable
                 AND balances_read_at IS NOT NULL
             THEN ledger.standing_difference(w.symbol, w.slip44, w.contract_address, w.difference, 0, balances_read_at,
                    (SELECT r.started_at FROM ledger.sync_runs r
                      WHERE r.job = 'transactions' AND r.outcome IN ('done', 'incomplete')
                      ORDER BY r.id DESC LIMIT 1)) END) AS s (standing)
$$;
--> statement-breakpoint
-- The problems that the view names already, and those of the addresses.
DO $problems$
BEGIN
  EXECUTE format($view$
CREATE OR REPLACE VIEW ledger.problems AS
SELECT p.name, p.severity, p.since, p.what, p.cure
  FROM (SELECT o.* FROM (%s) AS o
        UNION ALL
        SELECT 'address_shared', 'critical', min(c.noticed_at),
               count(DISTINCT c.address_key)
                 || CASE WHEN count(DISTINCT c.address_key) = 1 THEN ' address has' ELSE ' addresses have' END
                 || ' been handed out to more than one',
               '`select * from ledger.address_conflicts` names who holds them; give all but one another address, then delete the rows'
          FROM ledger.address_conflicts c HAVING count(*) > 0
        UNION ALL
        SELECT 'chain_filter_broken', 'critical', f.chain_filter_at,
               'the address list of chain ' || f.slip44 || ' does not heed the chain: asked by ' || f.chain_param
                 || ' for a chain that does not exist, it shows the same addresses',
               'set WALLET_PARAM_NAMES chain= to the service''s name of the chain parameter; `wallet-ledger doctor` checks it'
          FROM ledger.pools f WHERE f.chain_filter = 'broken') AS p
 ORDER BY p.severity, p.since, p.what$view$, rtrim(pg_get_viewdef('ledger.problems'::regclass), ';'));
END $problems$;
--> statement-breakpoint
COMMENT ON FUNCTION ledger.trimmed_address_key IS 'The part of ledger.address_key for addresses with a space or a colon';
COMMENT ON FUNCTION ledger.address_key IS 'One key for all spellings of an address: hexadecimal digits in either case, with 0x or without, texts of one case, and a cashaddr text with or without its prefix; a text of both cases stays as it is';
COMMENT ON FUNCTION ledger.take_address(integer, text) IS 'Hands out an available address of the chain, never one address to two callers, on no chain and in no spelling; the same reference gets the same address again, null gets another one with each call; null when the pool is empty; an empty reference and a chain without pool and addresses are errors';
COMMENT ON FUNCTION ledger.take_address(text, integer, text) IS 'The same, of a wallet; the only one is main';
COMMENT ON FUNCTION ledger.take_further_address(integer, text) IS 'Hands out one more address for the reference with each call; take_address keeps giving the first. Null when the pool is empty';
COMMENT ON FUNCTION ledger.take_further_address(text, integer, text) IS 'The same, of a wallet; the only one is main';
COMMENT ON TABLE ledger.addresses IS 'Deposit addresses per chain, one row for all spellings of an address';
COMMENT ON COLUMN ledger.addresses.address IS 'The address as the service first gave it; what take_address returns';
COMMENT ON COLUMN ledger.addresses.address_key IS 'The address in one form for all its spellings (ledger.address_key)';
COMMENT ON COLUMN ledger.addresses.status IS 'available: ours to hand out; assigned: handed out, here or on another chain; used: has a deposit in a success state; foreign: listed by the service but not provably generated here, or an unassigned one with a deposit that does not count; never handed out';
COMMENT ON COLUMN ledger.addresses.assigned_to IS 'Reference given when the address was handed out, on this chain or on another that has it; it is nobody else''s on any chain';
COMMENT ON COLUMN ledger.addresses.assigned_no IS 'Which of the reference''s addresses on this chain it is: 1 is the one that take_address gives; null when it was not asked for on this chain';
COMMENT ON COLUMN ledger.addresses.first_deposit_order_no IS 'The earliest deposit to the address in a success state';
COMMENT ON COLUMN ledger.addresses.first_deposit_at IS 'Time of that deposit (occurred_at)';
COMMENT ON COLUMN ledger.addresses.listed_as IS 'The spellings in which the service''s list has shown the address; each is an item of the list. Empty: not listed yet';
COMMENT ON COLUMN ledger.addresses.unchecked_until IS 'The program''s own: transactions below this number may not have seen the new address; null when all of them have ended and its deposits have been looked for';
COMMENT ON COLUMN ledger.address_requests.lost_at IS 'When the answer was given up; null for an answer that came';
COMMENT ON COLUMN ledger.address_requests.answer IS 'Addresses of an answer that is not believed before the list''s chain filter is shown to work';
COMMENT ON COLUMN ledger.address_requests.received IS 'Addresses that joined the pool by it';
COMMENT ON COLUMN ledger.pools.num_max IS 'Most addresses to ask for at once; halved when the service refuses the number and when an answer is lost, doubled when all is granted';
COMMENT ON COLUMN ledger.pools.losses IS 'Lost answers in a row: the list settles twice as long after each';
COMMENT ON COLUMN ledger.pools.chain_filter IS 'works: the address list was shown to heed the chain; broken: it lists the same addresses for a chain that does not exist, and nothing is handed out; null: not known yet';
COMMENT ON COLUMN ledger.pools.chain_param IS 'The name of the chain parameter with which that was seen (WALLET_PARAM_NAMES)';
COMMENT ON COLUMN ledger.pools.chain_filter_at IS 'When that was seen';
COMMENT ON TABLE ledger.address_conflicts IS 'Addresses that have been handed out more than once by an earlier version: in two spellings, or on two chains to two references. One row for each holder; deleted by hand when it is settled';
COMMENT ON COLUMN ledger.address_conflicts.slip44 IS 'slip44 code of the chain';
COMMENT ON COLUMN ledger.address_conflicts.address IS 'The address as it was handed out';
COMMENT ON COLUMN ledger.address_conflicts.address_key IS 'The address in one form for all its spellings';
COMMENT ON COLUMN ledger.address_conflicts.assigned_to IS 'The reference that it was handed out for; null when there was none';
COMMENT ON COLUMN ledger.address_conflicts.assigned_at IS 'When it was handed out';
COMMENT ON COLUMN ledger.address_conflicts.noticed_at IS 'When the program noticed it';
COMMENT ON TABLE engine.merged_addresses IS 'Rows of an earlier version for other spellings of an address, as they were when they were merged';
COMMENT ON COLUMN engine.merged_addresses.slip44 IS 'slip44 code of the chain';
COMMENT ON COLUMN engine.merged_addresses.address IS 'The spelling';
COMMENT ON COLUMN engine.merged_addresses.address_key IS 'Key of the row in ledger.addresses that stands for it now';
COMMENT ON COLUMN engine.merged_addresses.facts IS 'The other columns of the row';
COMMENT ON COLUMN ledger.pool_levels.foreign_addresses IS 'Addresses that the service lists and that are not provably ours; never handed out';
COMMENT ON COLUMN ledger.pool_levels.generated_24h IS 'Addresses that the requests of the last 24 hours have brought or may have generated, lost and open ones included: what POOL_MAX_PER_DAY limits';
