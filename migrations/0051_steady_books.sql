-- Deposits of coins that exist on several chains. Their chain follows from the address, which the running totals do not
-- have: so the sums per chain are kept by hour, and only hours in which something changed are read again.
CREATE TABLE "engine"."chain_deposits" (
	"wallet" text DEFAULT engine.wallet() NOT NULL,
	"key" uuid PRIMARY KEY NOT NULL,
	"symbol" text NOT NULL,
	"state" text,
	"slip44" integer,
	"transactions" bigint NOT NULL,
	"amounts" bigint NOT NULL,
	"amount" numeric NOT NULL
);
--> statement-breakpoint
CREATE TABLE "engine"."hourly_chain_deposits" (
	"wallet" text DEFAULT engine.wallet() NOT NULL,
	"hour" timestamp with time zone NOT NULL,
	"symbol" text NOT NULL,
	"state" text,
	"slip44" integer,
	"transactions" bigint NOT NULL,
	"amounts" bigint NOT NULL,
	"amount" numeric NOT NULL
);
--> statement-breakpoint
CREATE TABLE "engine"."chain_deposit_marks" (
	"wallet" text DEFAULT engine.wallet() NOT NULL,
	"hour" timestamp with time zone,
	"address_key" text
);
--> statement-breakpoint
CREATE INDEX "hourly_chain_deposits_hour" ON "engine"."hourly_chain_deposits" USING btree ("wallet","hour");
--> statement-breakpoint
COMMENT ON TABLE engine.chain_deposits IS 'Sums of the listed deposits of coins that exist on several chains, per state and chain over all hours';
COMMENT ON COLUMN engine.chain_deposits.key IS 'Hash of the group';
COMMENT ON TABLE engine.hourly_chain_deposits IS 'The same per UTC hour, as engine.keep_chain_deposits read them last';
COMMENT ON COLUMN engine.hourly_chain_deposits.hour IS 'UTC hour of the deposits (occurred_at); infinity for those without a readable time';
COMMENT ON TABLE engine.chain_deposit_marks IS 'Hours that are to be read again, because a deposit changed or was deleted, and addresses whose chain changed. Rows are only added, so that writers never wait for one another. New deposits have none: the totals show that they came';
COMMENT ON COLUMN engine.chain_deposit_marks.wallet IS 'Wallet of the deposits';
COMMENT ON COLUMN engine.chain_deposit_marks.hour IS 'As in hourly_chain_deposits; null for the mark of an address';
COMMENT ON COLUMN engine.chain_deposit_marks.address_key IS 'Address whose deposits are to be read again; null for the mark of an hour';
--> statement-breakpoint
DO $$
DECLARE
  each text;
BEGIN
  FOREACH each IN ARRAY ARRAY['chain_deposits', 'hourly_chain_deposits'] LOOP
    EXECUTE format($sql$
      COMMENT ON COLUMN engine.%1$I.wallet IS 'Wallet of the deposits';
      COMMENT ON COLUMN engine.%1$I.symbol IS 'Coin symbol code';
      COMMENT ON COLUMN engine.%1$I.state IS 'State as the service says';
      COMMENT ON COLUMN engine.%1$I.slip44 IS 'Chain that lists the address of the deposits; null where none or several do';
      COMMENT ON COLUMN engine.%1$I.transactions IS 'Number of deposits';
      COMMENT ON COLUMN engine.%1$I.amounts IS 'Number of those whose amount is known';
      COMMENT ON COLUMN engine.%1$I.amount IS 'Sum of the known amounts'$sql$, each);
  END LOOP;
END $$;
--> statement-breakpoint
CREATE FUNCTION engine.hour_of(at timestamptz) RETURNS timestamptz
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT CASE WHEN isfinite(at) THEN date_trunc('hour', at AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' ELSE 'infinity' END $$;
--> statement-breakpoint
COMMENT ON FUNCTION engine.hour_of IS 'Beginning of the UTC hour; infinity for a time that is null or infinite';
--> statement-breakpoint
CREATE FUNCTION engine.shared_symbols(of_wallet text) RETURNS text[]
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
SELECT array_agg(s.symbol ORDER BY s.symbol)
  FROM (SELECT a.symbol
          FROM (SELECT b.slip44, b.symbol, b.contract_address FROM ledger.balances b WHERE b.wallet = of_wallet
                UNION SELECT c.slip44, c.symbol, c.contract_address FROM ledger.coins c WHERE c.wallet = of_wallet) AS a
         GROUP BY a.symbol HAVING count(*) > 1) AS s
$$;
--> statement-breakpoint
COMMENT ON FUNCTION engine.shared_symbols IS 'Symbols of the wallet that name several assets; null if none does';
--> statement-breakpoint
CREATE FUNCTION engine.read_chain_deposits(of_wallet text, hours timestamptz[], symbols text[])
RETURNS SETOF engine.hourly_chain_deposits
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET jit = off
AS $$
SELECT of_wallet, d.hour, d.symbol, d.state, CASE WHEN h.first_chain = h.last_chain THEN h.first_chain END, count(*),
       count(d.amount), coalesce(sum(d.amount), 0)
  FROM (SELECT u.hour, t.symbol, t.state, t.amount, t.to_address
          FROM unnest(hours) AS u (hour)
         CROSS JOIN LATERAL (
            SELECT x.symbol, x.state, x.amount, x.to_address FROM ledger.transactions x
             WHERE x.wallet = of_wallet AND x.stream = 'deposit' AND x.occurred_at >= u.hour
               AND x.occurred_at <= u.hour + interval '59 minutes 59.999999 seconds'
               AND x.is_listed AND x.symbol = ANY (symbols) OFFSET 0) AS t
        UNION ALL
        SELECT 'infinity', x.symbol, x.state, x.amount, x.to_address FROM ledger.transactions x
         WHERE 'infinity' = ANY (hours) AND x.wallet = of_wallet AND x.stream = 'deposit' AND x.occurred_at IS NULL
           AND x.is_listed AND x.symbol = ANY (symbols)
        UNION ALL
        SELECT 'infinity', x.symbol, x.state, x.amount, x.to_address FROM ledger.transactions x
         WHERE 'infinity' = ANY (hours) AND x.wallet = of_wallet AND x.stream = 'deposit' AND x.occurred_at = '-infinity'
           AND x.is_listed AND x.symbol = ANY (symbols)) AS d
  LEFT JOIN LATERAL (
    SELECT min(a.slip44) AS first_chain, max(a.slip44) AS last_chain FROM ledger.addresses a
     WHERE a.wallet = of_wallet AND a.address_key = ledger.address_key(d.to_address)) AS h ON true
 GROUP BY 2, 3, 4, 5
$$;
--> statement-breakpoint
COMMENT ON FUNCTION engine.read_chain_deposits IS 'Sums of the deposits of some hours per chain, from the transactions';
--> statement-breakpoint
CREATE FUNCTION engine.marked_hours(of_wallet text) RETURNS timestamptz[]
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET jit = off
AS $$
SELECT ARRAY(
  SELECT m.hour FROM engine.chain_deposit_marks m WHERE m.wallet = of_wallet AND m.address_key IS NULL
  UNION
  SELECT engine.hour_of(t.occurred_at)
    FROM engine.chain_deposit_marks m
    JOIN ledger.transactions t ON t.wallet = m.wallet AND t.stream = 'deposit' AND ledger.address_key(t.to_address) = m.address_key
   WHERE m.wallet = of_wallet AND m.address_key IS NOT NULL)
$$;
--> statement-breakpoint
COMMENT ON FUNCTION engine.marked_hours IS 'Hours that engine.chain_deposit_marks names, those of marked addresses included';
--> statement-breakpoint
-- Finds them by the time of the first sight. The wallet is compared as an expression, so that no index by wallet is read,
-- which names the wallet's whole history.
CREATE FUNCTION engine.hours_of_new_deposits(of_wallet text, symbols text[]) RETURNS timestamptz[]
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET jit = off
AS $$
SELECT ARRAY(
  SELECT DISTINCT engine.hour_of(t.occurred_at) FROM ledger.transactions t
   WHERE t.first_seen_at >= now() - interval '2 hours' AND t.wallet || '' = of_wallet AND t.stream || '' = 'deposit'
     AND t.is_listed AND t.symbol = ANY (symbols))
$$;
--> statement-breakpoint
COMMENT ON FUNCTION engine.hours_of_new_deposits IS 'Hours of the deposits that came in the last two hours';
--> statement-breakpoint
-- An insert changes a count, and an update or a deletion leaves a mark: equal sums say that nothing else is to be read.
CREATE FUNCTION engine.are_chain_deposits_whole(of_wallet text, symbols text[], hours timestamptz[],
                                                fresh engine.hourly_chain_deposits[]) RETURNS boolean
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
SELECT NOT EXISTS (
  SELECT FROM (SELECT s.symbol, s.state, s.transactions, s.amounts, s.amount FROM engine.all_sums_now s
                WHERE s.wallet = of_wallet AND s.stream = 'deposit' AND s.symbol = ANY (symbols)
               UNION ALL
               SELECT c.symbol, c.state, - c.transactions, - c.amounts, - c.amount FROM engine.chain_deposits c
                WHERE c.wallet = of_wallet AND c.symbol = ANY (symbols)
               UNION ALL
               SELECT h.symbol, h.state, h.transactions, h.amounts, h.amount FROM engine.hourly_chain_deposits h
                WHERE h.wallet = of_wallet AND h.hour = ANY (hours) AND h.symbol = ANY (symbols)
               UNION ALL
               SELECT f.symbol, f.state, - f.transactions, - f.amounts, - f.amount FROM unnest(fresh) AS f) AS x
   GROUP BY x.symbol, x.state
  HAVING (sum(x.transactions), sum(x.amounts), sum(x.amount)) <> (0, 0, 0))
$$;
--> statement-breakpoint
COMMENT ON FUNCTION engine.are_chain_deposits_whole IS 'True if the kept sums, with those of fresh in place of those of hours, add up to the totals';
--> statement-breakpoint
CREATE FUNCTION engine.hours_that_differ(of_wallet text, symbols text[], hours timestamptz[],
                                         fresh engine.hourly_chain_deposits[]) RETURNS timestamptz[]
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
SELECT ARRAY(
  SELECT CASE WHEN isfinite(d.day) THEN d.day::timestamp AT TIME ZONE 'UTC' + step * interval '1 hour' ELSE 'infinity' END
    FROM (SELECT x.day
            FROM (SELECT CASE WHEN isfinite(s.day) THEN s.day ELSE 'infinity' END AS day, s.symbol, s.state,
                         s.transactions, s.amounts, s.amount
                    FROM engine.daily_sums_now s
                   WHERE s.wallet = of_wallet AND s.stream = 'deposit' AND s.symbol = ANY (symbols)
                  UNION ALL
                  SELECT (h.hour AT TIME ZONE 'UTC')::date, h.symbol, h.state, - h.transactions, - h.amounts, - h.amount
                    FROM engine.hourly_chain_deposits h
                   WHERE h.wallet = of_wallet AND h.symbol = ANY (symbols)
                  UNION ALL
                  SELECT (h.hour AT TIME ZONE 'UTC')::date, h.symbol, h.state, h.transactions, h.amounts, h.amount
                    FROM engine.hourly_chain_deposits h
                   WHERE h.wallet = of_wallet AND h.hour = ANY (hours) AND h.symbol = ANY (symbols)
                  UNION ALL
                  SELECT (f.hour AT TIME ZONE 'UTC')::date, f.symbol, f.state, - f.transactions, - f.amounts, - f.amount
                    FROM unnest(fresh) AS f) AS x
           GROUP BY x.day, x.symbol, x.state
          HAVING (sum(x.transactions), sum(x.amounts), sum(x.amount)) <> (0, 0, 0)) AS d
   CROSS JOIN generate_series(0, 23) AS step
  EXCEPT SELECT u.hour FROM unnest(hours) AS u (hour)
   ORDER BY 1 DESC)
$$;
--> statement-breakpoint
COMMENT ON FUNCTION engine.hours_that_differ IS 'Hours of the days whose kept sums, with those of fresh in place of those of hours, are not what the totals say; latest first';
--> statement-breakpoint
CREATE FUNCTION engine.deposits_by_chain(of_wallet text)
RETURNS TABLE (symbol text, state text, slip44 integer, transactions bigint, amount numeric)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
#variable_conflict use_column
DECLARE
  symbols text[] := engine.shared_symbols(of_wallet);
  hours timestamptz[] := '{}';
  more timestamptz[];
  fresh engine.hourly_chain_deposits[] := '{}';
BEGIN
  IF symbols IS NULL THEN RETURN; END IF;
  more := engine.marked_hours(of_wallet);
  -- First the marked hours, then those of the latest deposits, then those of all days that differ.
  FOR step IN 1..3 LOOP
    fresh := fresh || ARRAY(SELECT r FROM engine.read_chain_deposits(of_wallet, more, symbols) AS r);
    hours := hours || more;
    EXIT WHEN step = 3 OR engine.are_chain_deposits_whole(of_wallet, symbols, hours, fresh);
    more := CASE step WHEN 1 THEN ARRAY(SELECT n FROM unnest(engine.hours_of_new_deposits(of_wallet, symbols)) AS n
                                        EXCEPT SELECT h FROM unnest(hours) AS h)
                      ELSE engine.hours_that_differ(of_wallet, symbols, hours, fresh) END;
  END LOOP;
  RETURN QUERY
  SELECT x.symbol, x.state, x.slip44, sum(x.transactions)::bigint, CASE WHEN sum(x.amounts) > 0 THEN sum(x.amount) END
    FROM (SELECT c.symbol, c.state, c.slip44, c.transactions, c.amounts, c.amount FROM engine.chain_deposits c
           WHERE c.wallet = of_wallet AND c.symbol = ANY (symbols)
          UNION ALL
          SELECT h.symbol, h.state, h.slip44, - h.transactions, - h.amounts, - h.amount FROM engine.hourly_chain_deposits h
           WHERE h.wallet = of_wallet AND h.hour = ANY (hours) AND h.symbol = ANY (symbols)
          UNION ALL
          SELECT f.symbol, f.state, f.slip44, f.transactions, f.amounts, f.amount FROM unnest(fresh) AS f) AS x
   GROUP BY x.symbol, x.state, x.slip44 HAVING sum(x.transactions) <> 0;
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION engine.deposits_by_chain IS 'Rows of ledger.deposit_chains for one wallet';
--> statement-breakpoint
CREATE VIEW ledger.deposit_chains AS
SELECT seen.*
  FROM (SELECT d.symbol, d.state, d.slip44, d.transactions, d.amount, w.wallet
          FROM engine.wallet_names w CROSS JOIN LATERAL engine.deposits_by_chain(w.wallet) AS d) AS seen
 WHERE (SELECT engine.seen_wallets(current_user)) IS NULL
    OR seen.wallet = ANY ((SELECT engine.seen_wallets(current_user))::text[]);
--> statement-breakpoint
COMMENT ON VIEW ledger.deposit_chains IS 'Internal: sums of the listed deposits of coins that exist on several chains, per state and chain, which asset_reconciliation reads';
COMMENT ON COLUMN ledger.deposit_chains.symbol IS 'Coin symbol code';
COMMENT ON COLUMN ledger.deposit_chains.state IS 'State as the service says';
COMMENT ON COLUMN ledger.deposit_chains.slip44 IS 'Chain that lists the address of the deposits; null where none or several do';
COMMENT ON COLUMN ledger.deposit_chains.transactions IS 'Number of deposits';
COMMENT ON COLUMN ledger.deposit_chains.amount IS 'Sum of the known amounts; null when none is known';
COMMENT ON COLUMN ledger.deposit_chains.wallet IS 'Wallet of the deposits';
--> statement-breakpoint
-- One statement, so that what it reads, the marks that it takes away and the sums are of one snapshot.
CREATE FUNCTION engine.keep_hours(of_wallet text, hours timestamptz[], symbols text[]) RETURNS void
LANGUAGE sql
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
WITH taken AS (
  DELETE FROM engine.chain_deposit_marks m WHERE m.wallet = of_wallet AND m.address_key IS NULL AND m.hour = ANY (hours)
),
removed AS (
  DELETE FROM engine.hourly_chain_deposits h WHERE h.wallet = of_wallet AND h.hour = ANY (hours)
  RETURNING h.symbol, h.state, h.slip44, h.transactions, h.amounts, h.amount
),
fresh AS MATERIALIZED (
  SELECT r.* FROM engine.read_chain_deposits(of_wallet, hours, symbols) AS r
),
stored AS (
  INSERT INTO engine.hourly_chain_deposits (wallet, hour, symbol, state, slip44, transactions, amounts, amount)
  SELECT f.wallet, f.hour, f.symbol, f.state, f.slip44, f.transactions, f.amounts, f.amount FROM fresh f
)
INSERT INTO engine.chain_deposits AS c (wallet, key, symbol, state, slip44, transactions, amounts, amount)
SELECT of_wallet, engine.sum_key(of_wallet, x.symbol, x.state, x.slip44::text), x.symbol, x.state, x.slip44,
       sum(x.transactions), sum(x.amounts), sum(x.amount)
  FROM (SELECT f.symbol, f.state, f.slip44, f.transactions, f.amounts, f.amount FROM fresh f
        UNION ALL
        SELECT r.symbol, r.state, r.slip44, - r.transactions, - r.amounts, - r.amount FROM removed r) AS x
 GROUP BY x.symbol, x.state, x.slip44
HAVING (sum(x.transactions), sum(x.amounts), sum(x.amount)) <> (0, 0, 0)
ON CONFLICT (key) DO UPDATE
  SET transactions = c.transactions + excluded.transactions, amounts = c.amounts + excluded.amounts,
      amount = c.amount + excluded.amount
$$;
--> statement-breakpoint
COMMENT ON FUNCTION engine.keep_hours IS 'Reads the deposits of some hours, and keeps their sums';
--> statement-breakpoint
CREATE FUNCTION engine.keep_chain_deposits(of_wallet text, most interval) RETURNS boolean
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
DECLARE
  ends_at timestamptz := clock_timestamp() + most;
  symbols text[] := engine.shared_symbols(of_wallet);
  hours timestamptz[];
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed'
     OR NOT pg_try_advisory_xact_lock(7246011, hashtext(of_wallet)) THEN
    RETURN false;
  END IF;
  -- While the history is read for the first time, what is kept would be read again at once.
  IF EXISTS (SELECT FROM ledger.streams s WHERE s.wallet = of_wallet AND s.name = 'deposit' AND s.last_walk_at IS NULL) THEN
    RETURN false;
  END IF;
  IF symbols IS NULL THEN
    DELETE FROM engine.chain_deposit_marks m WHERE m.wallet = of_wallet;
    DELETE FROM engine.hourly_chain_deposits h WHERE h.wallet = of_wallet;
    DELETE FROM engine.chain_deposits c WHERE c.wallet = of_wallet;
    RETURN true;
  END IF;
  FOR step IN 1..4 LOOP
    IF step = 1 THEN
      -- Marks of addresses become marks of hours, in portions that take a part of a second.
      WHILE clock_timestamp() < ends_at LOOP
        WITH taken AS (
          DELETE FROM engine.chain_deposit_marks m
           WHERE m.ctid = ANY (ARRAY(SELECT a.ctid FROM engine.chain_deposit_marks a
                                      WHERE a.wallet = of_wallet AND a.address_key IS NOT NULL LIMIT 500))
          RETURNING m.address_key)
        INSERT INTO engine.chain_deposit_marks (wallet, hour)
        SELECT of_wallet, h.hour
          FROM taken k
         CROSS JOIN LATERAL (
            SELECT DISTINCT engine.hour_of(t.occurred_at) AS hour FROM ledger.transactions t
             WHERE t.wallet = of_wallet AND t.stream = 'deposit' AND ledger.address_key(t.to_address) = k.address_key
               AND t.symbol = ANY (symbols)) AS h;
        EXIT WHEN NOT EXISTS (SELECT FROM engine.chain_deposit_marks m WHERE m.wallet = of_wallet AND m.address_key IS NOT NULL);
      END LOOP;
    END IF;
    hours := CASE step WHEN 2 THEN engine.marked_hours(of_wallet)
                       WHEN 3 THEN engine.hours_of_new_deposits(of_wallet, symbols)
                       WHEN 4 THEN engine.hours_that_differ(of_wallet, symbols, '{}', '{}') ELSE '{}' END;
    FOR portion IN 1..cardinality(hours) BY 100 LOOP
      IF clock_timestamp() >= ends_at THEN RETURN false; END IF;
      PERFORM engine.keep_hours(of_wallet, hours[portion:portion + 99], symbols);
    END LOOP;
    IF step > 1 AND engine.are_chain_deposits_whole(of_wallet, symbols, '{}', '{}') THEN EXIT; END IF;
  END LOOP;
  DELETE FROM engine.chain_deposits c WHERE c.wallet = of_wallet AND c.transactions = 0;
  RETURN true;
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION engine.keep_chain_deposits IS 'Reads again the hours whose deposits changed, for as long as it may take. False if hours are left, or if another session does it';
--> statement-breakpoint
CREATE FUNCTION engine.mark_deposit() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF OLD.stream = 'deposit' THEN
    INSERT INTO engine.chain_deposit_marks (wallet, hour) VALUES (OLD.wallet, engine.hour_of(OLD.occurred_at));
  END IF;
  IF TG_OP = 'UPDATE' AND NEW.stream = 'deposit' AND (OLD.stream <> NEW.stream OR OLD.wallet <> NEW.wallet
       OR engine.hour_of(OLD.occurred_at) <> engine.hour_of(NEW.occurred_at)) THEN
    INSERT INTO engine.chain_deposit_marks (wallet, hour) VALUES (NEW.wallet, engine.hour_of(NEW.occurred_at));
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER transactions_deposit_marked AFTER UPDATE ON ledger.transactions
  FOR EACH ROW WHEN ((OLD.stream = 'deposit' OR NEW.stream = 'deposit')
                 AND (OLD.state IS DISTINCT FROM NEW.state OR OLD.amount IS DISTINCT FROM NEW.amount
                   OR OLD.symbol IS DISTINCT FROM NEW.symbol OR OLD.to_address IS DISTINCT FROM NEW.to_address
                   OR OLD.is_listed <> NEW.is_listed OR OLD.occurred_at IS DISTINCT FROM NEW.occurred_at
                   OR OLD.stream <> NEW.stream OR OLD.wallet <> NEW.wallet))
  EXECUTE FUNCTION engine.mark_deposit();
--> statement-breakpoint
CREATE TRIGGER transactions_deposit_deleted AFTER DELETE ON ledger.transactions
  FOR EACH ROW WHEN (OLD.stream = 'deposit') EXECUTE FUNCTION engine.mark_deposit();
--> statement-breakpoint
CREATE FUNCTION engine.mark_addresses() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF TG_OP = 'UPDATE' THEN
    INSERT INTO engine.chain_deposit_marks (wallet, address_key)
    SELECT OLD.wallet, OLD.address_key UNION SELECT NEW.wallet, NEW.address_key;
  ELSE
    INSERT INTO engine.chain_deposit_marks (wallet, address_key) SELECT c.wallet, c.address_key FROM changed_rows c;
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER addresses_new_marked AFTER INSERT ON ledger.addresses
  REFERENCING NEW TABLE AS changed_rows FOR EACH STATEMENT EXECUTE FUNCTION engine.mark_addresses();
--> statement-breakpoint
CREATE TRIGGER addresses_deleted_marked AFTER DELETE ON ledger.addresses
  REFERENCING OLD TABLE AS changed_rows FOR EACH STATEMENT EXECUTE FUNCTION engine.mark_addresses();
--> statement-breakpoint
CREATE TRIGGER addresses_changed_marked AFTER UPDATE ON ledger.addresses
  FOR EACH ROW WHEN (OLD.slip44 <> NEW.slip44 OR OLD.address_key <> NEW.address_key OR OLD.wallet <> NEW.wallet)
  EXECUTE FUNCTION engine.mark_addresses();
--> statement-breakpoint
-- Nobody else writes then, because TRUNCATE locks the table.
CREATE FUNCTION engine.forget_chain_deposits() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  DELETE FROM engine.chain_deposit_marks;
  DELETE FROM engine.hourly_chain_deposits;
  DELETE FROM engine.chain_deposits;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER transactions_truncated_chains AFTER TRUNCATE ON ledger.transactions
  FOR EACH STATEMENT EXECUTE FUNCTION engine.forget_chain_deposits();
--> statement-breakpoint
CREATE TRIGGER addresses_truncated_chains AFTER TRUNCATE ON ledger.addresses
  FOR EACH STATEMENT EXECUTE FUNCTION engine.forget_chain_deposits();
--> statement-breakpoint
-- The function reads the new view through the schema own.
SELECT engine.make_own_views();
--> statement-breakpoint
DO $migration$
DECLARE
  former text := pg_get_functiondef('ledger.reconcile_assets(timestamptz)'::regprocedure);
  begins integer := position('home AS (' IN former);
  ends integer := position('sent AS (' IN former);
  present text;
BEGIN
  ASSERT begins > 0 AND ends > begins;
  present := left(former, begins - 1) || substr(former, ends);
  former := present;
  present := replace(present, $from$SELECT d.symbol, h.slip44, d.state, d.amount AS amount_in, 0 AS amount_out
            FROM received d LEFT JOIN home h ON h.address = d.address$from$,
    $to$SELECT d.symbol, d.slip44, d.state, d.amount AS amount_in, 0 AS amount_out FROM own.deposit_chains d$to$);
  ASSERT present <> former;
  EXECUTE present;
END $migration$;
--> statement-breakpoint
-- The sums that books add up, a row per group and day. Nothing is grouped, so that a window of days reads these days only.
CREATE VIEW ledger.booked_days AS
SELECT seen.*
  FROM (SELECT s.day, s.stream, s.symbol, s.fee_symbol, s.transactions, s.amounts, s.amount, s.fees, s.fee, s.wallet
          FROM engine.daily_sums_now s
         WHERE s.is_success AND s.stream IN ('deposit', 'withdraw')) AS seen
 WHERE (SELECT engine.seen_wallets(current_user)) IS NULL
    OR seen.wallet = ANY ((SELECT engine.seen_wallets(current_user))::text[]);
--> statement-breakpoint
COMMENT ON VIEW ledger.booked_days IS 'Internal: sums of the listed transactions in a success state, to be added up; several rows per day, list and coin';
COMMENT ON COLUMN ledger.booked_days.day IS 'UTC day of the transactions; null for those whose time is unreadable';
COMMENT ON COLUMN ledger.booked_days.stream IS 'deposit or withdraw';
COMMENT ON COLUMN ledger.booked_days.symbol IS 'Coin symbol code of the amount';
COMMENT ON COLUMN ledger.booked_days.fee_symbol IS 'Coin symbol code of the fee';
COMMENT ON COLUMN ledger.booked_days.transactions IS 'Number of transactions; may be negative, because changes are among the rows';
COMMENT ON COLUMN ledger.booked_days.amounts IS 'Number of those whose amount is known';
COMMENT ON COLUMN ledger.booked_days.amount IS 'Sum of the known amounts';
COMMENT ON COLUMN ledger.booked_days.fees IS 'Number of known fees';
COMMENT ON COLUMN ledger.booked_days.fee IS 'Sum of the known fees';
COMMENT ON COLUMN ledger.booked_days.wallet IS 'Wallet of the transactions';
--> statement-breakpoint
-- Days and moments are variables, so that each part reads its window by an index, whatever statistics there are.
CREATE FUNCTION ledger.booked_sums(wallet text, since timestamptz, until timestamptz, of_symbol text)
RETURNS TABLE (kind text, symbol text, amount numeric, unknown_amounts bigint)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET jit = off
AS $$
#variable_conflict use_column
DECLARE
  first_day date := (since AT TIME ZONE 'UTC')::date
    + CASE WHEN since AT TIME ZONE 'UTC' = date_trunc('day', since AT TIME ZONE 'UTC') THEN 0 ELSE 1 END;
  end_day date := (until AT TIME ZONE 'UTC')::date;
  head_until timestamptz := least(first_day::timestamp AT TIME ZONE 'UTC', until);
  tail_since timestamptz := greatest(end_day::timestamp AT TIME ZONE 'UTC', head_until);
BEGIN
  RETURN QUERY
  WITH ends AS MATERIALIZED (
    SELECT t.stream, t.symbol, t.amount, t.fee_symbol, t.fee
      FROM ledger.transactions t
     WHERE t.wallet = booked_sums.wallet AND t.stream IN ('deposit', 'withdraw')
       AND t.occurred_at >= booked_sums.since AND t.occurred_at < head_until AND t.is_success AND t.is_listed
    UNION ALL
    SELECT t.stream, t.symbol, t.amount, t.fee_symbol, t.fee
      FROM ledger.transactions t
     WHERE t.wallet = booked_sums.wallet AND t.stream IN ('deposit', 'withdraw')
       AND t.occurred_at >= tail_since AND t.occurred_at < booked_sums.until AND t.is_success AND t.is_listed
    UNION ALL
    SELECT t.stream, t.symbol, t.amount, t.fee_symbol, t.fee
      FROM ledger.transactions t
     WHERE t.wallet = booked_sums.wallet AND t.stream IN ('deposit', 'withdraw') AND t.occurred_at IS NULL AND t.is_success
       AND t.is_listed AND t.first_seen_at >= booked_sums.since AND t.first_seen_at < booked_sums.until
  ),
  parts AS MATERIALIZED (
    SELECT s.stream, s.symbol, s.transactions, s.amounts, s.amount, s.fee_symbol, s.fees, s.fee
      FROM ledger.booked_days s
     WHERE s.wallet = booked_sums.wallet AND s.day >= first_day AND s.day < end_day
       AND (booked_sums.of_symbol IS NULL OR booked_sums.of_symbol IN (s.symbol, s.fee_symbol))
    UNION ALL
    SELECT e.stream, e.symbol, 1, (e.amount IS NOT NULL)::integer, coalesce(e.amount, 0), e.fee_symbol,
           (e.fee IS NOT NULL)::integer, coalesce(e.fee, 0)
      FROM ends e
     WHERE booked_sums.of_symbol IS NULL OR booked_sums.of_symbol IN (e.symbol, e.fee_symbol)
  )
  SELECT x.kind, x.symbol, sum(x.amount), sum(x.unknown_amounts)::bigint
    FROM (SELECT CASE p.stream WHEN 'deposit' THEN 'deposits' ELSE 'withdrawals' END AS kind, p.symbol, p.transactions,
                 p.amount, p.transactions - p.amounts AS unknown_amounts
            FROM parts p
          UNION ALL
          SELECT 'fees', p.fee_symbol, p.fees, p.fee, 0 FROM parts p WHERE p.fees <> 0) AS x
   WHERE x.symbol IS NOT NULL AND (booked_sums.of_symbol IS NULL OR x.symbol = booked_sums.of_symbol)
   GROUP BY x.kind, x.symbol HAVING sum(x.transactions) <> 0;
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION ledger.booked_sums(text, timestamptz, timestamptz, text) IS 'As booked_sums(wallet, since, until), for one coin; null for all';
--> statement-breakpoint
CREATE OR REPLACE FUNCTION ledger.booked_sums(wallet text, since timestamptz, until timestamptz)
RETURNS TABLE (kind text, symbol text, amount numeric, unknown_amounts bigint)
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
SELECT s.kind, s.symbol, s.amount, s.unknown_amounts
  FROM ledger.booked_sums(booked_sums.wallet, booked_sums.since, booked_sums.until, NULL) AS s
$$;
--> statement-breakpoint
DO $migration$
DECLARE
  former text := pg_get_functiondef('ledger.balance_at(text, text, timestamptz)'::regprocedure);
  present text := replace(former, 'ledger.booked_sums(balance_at.wallet, at, first_at) m WHERE m.symbol = of_symbol',
                          'ledger.booked_sums(balance_at.wallet, at, first_at, of_symbol) m');
BEGIN
  ASSERT present <> former;
  EXECUTE present;
END $migration$;
--> statement-breakpoint
-- Reads the transactions of the coin in the period, rather than the postings of all coins.
CREATE FUNCTION ledger.custody_postings(wallet text, of_symbol text, since timestamptz, until timestamptz)
RETURNS TABLE (booked_at timestamptz, order_no text, posting_no integer, account text, amount numeric)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET jit = off
AS $$
#variable_conflict use_column
DECLARE
  of_wallet text := custody_postings.wallet;
  customers text := coalesce((SELECT a.name FROM ledger.accounts a WHERE a.role = 'customers'), 'customers');
  withdrawn text := coalesce((SELECT a.name FROM ledger.accounts a WHERE a.role = 'withdrawn'), 'withdrawn');
  fees text := coalesce((SELECT a.name FROM ledger.accounts a WHERE a.role = 'fees'), 'fees');
BEGIN
  RETURN QUERY
  WITH moved AS (
    SELECT d.order_no, d.stream, d.symbol, d.to_address, d.amount, d.fee, d.fee_symbol, d.occurred_at AS booked_at
      FROM ledger.transactions d
     WHERE d.wallet = of_wallet AND d.stream IN ('deposit', 'withdraw') AND d.occurred_at >= since AND d.occurred_at < until
       AND d.is_listed AND d.is_success AND of_symbol IN (d.symbol, d.fee_symbol)
    UNION ALL
    SELECT u.order_no, u.stream, u.symbol, u.to_address, u.amount, u.fee, u.fee_symbol, u.first_seen_at
      FROM ledger.transactions u
     WHERE u.wallet = of_wallet AND u.stream IN ('deposit', 'withdraw') AND u.occurred_at IS NULL
       AND u.first_seen_at >= since AND u.first_seen_at < until AND u.is_listed AND u.is_success
       AND of_symbol IN (u.symbol, u.fee_symbol)
  )
  SELECT m.booked_at, m.order_no, 2, customers || coalesce(':' || h.assigned_to, ''), m.amount
    FROM moved m
    LEFT JOIN LATERAL (
      SELECT a.assigned_to FROM ledger.addresses a
       WHERE a.wallet = of_wallet AND a.address_key = ledger.address_key(m.to_address) AND a.assigned_to IS NOT NULL
       ORDER BY a.slip44 LIMIT 1) AS h ON true
   WHERE m.stream = 'deposit' AND m.symbol = of_symbol AND m.amount IS NOT NULL
  UNION ALL
  SELECT m.booked_at, m.order_no, 2, withdrawn, - m.amount
    FROM moved m WHERE m.stream = 'withdraw' AND m.symbol = of_symbol AND m.amount IS NOT NULL
  UNION ALL
  SELECT m.booked_at, m.order_no, 4, fees, - m.fee FROM moved m WHERE m.fee_symbol = of_symbol AND m.fee <> 0;
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION ledger.custody_postings IS 'Postings of a coin in a period that move coins in custody: those of ledger.postings on the other accounts, with the sign that they have for custody';
--> statement-breakpoint
CREATE OR REPLACE FUNCTION ledger.account_statement(wallet text, symbol text, "from" date, "to" date)
RETURNS TABLE (line_no bigint, kind text, booked_at timestamptz, order_no text, account text, amount numeric,
               balance numeric, is_computed boolean)
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
WITH period AS (
  SELECT "from"::timestamp AT TIME ZONE 'UTC' AS begins_at, ("to" + 1)::timestamp AT TIME ZONE 'UTC' AS ends_at
),
known AS MATERIALIZED (
  SELECT p.begins_at, p.ends_at, o.balance AS opening, o.is_computed AS is_opening_computed,
         c.balance AS closing, c.is_computed AS is_closing_computed
    FROM period p
   CROSS JOIN LATERAL ledger.balance_at(account_statement.wallet, account_statement.symbol, p.begins_at) AS o
   CROSS JOIN LATERAL ledger.balance_at(account_statement.wallet, account_statement.symbol, p.ends_at) AS c
),
posted AS MATERIALIZED (
  SELECT c.booked_at, c.order_no, c.posting_no, c.account, c.amount
    FROM period p
   CROSS JOIN LATERAL ledger.custody_postings(account_statement.wallet, account_statement.symbol, p.begins_at, p.ends_at) AS c
),
lines AS (
  SELECT 1 AS part, 'opening' AS kind, k.begins_at AS booked_at, NULL AS order_no, 0 AS posting_no, NULL AS account,
         NULL::numeric AS amount, k.is_opening_computed AS is_computed
    FROM known k
  UNION ALL
  SELECT 2, 'posting', p.booked_at, p.order_no, p.posting_no, p.account, p.amount, NULL FROM posted p
  UNION ALL
  SELECT 3, 'left over', k.ends_at, NULL, 0, NULL,
         k.closing - k.opening - coalesce((SELECT sum(p.amount) FROM posted p), 0), NULL
    FROM known k
  UNION ALL
  SELECT 4, 'closing', k.ends_at, NULL, 0, NULL, NULL, k.is_closing_computed FROM known k
)
SELECT row_number() OVER in_order, l.kind, l.booked_at, l.order_no, l.account, l.amount,
       CASE l.part WHEN 4 THEN k.closing ELSE k.opening + coalesce(sum(l.amount) OVER in_order, 0) END, l.is_computed
  FROM lines l CROSS JOIN known k
WINDOW in_order AS (ORDER BY l.part, l.booked_at, l.order_no, l.posting_no)
 ORDER BY 1
$$;
--> statement-breakpoint
-- A closing holds the writers of its own wallet only. Each statement that changes transactions takes the lock of their
-- wallet, shared with all others, before it looks for closed months; the closing takes it alone. The session's wallet
-- comes first: as a rule no row is of another one.
CREATE FUNCTION engine.share_closing(of_wallet text) RETURNS void
LANGUAGE sql
AS $$ SELECT pg_advisory_xact_lock_shared(7246012, hashtext(of_wallet)) $$;
--> statement-breakpoint
COMMENT ON FUNCTION engine.share_closing IS 'Waits for a closing of the wallet, and makes new ones wait until the caller''s transaction ends';
--> statement-breakpoint
CREATE FUNCTION engine.hold_closing(of_wallet text) RETURNS void
LANGUAGE sql
SET search_path = pg_catalog, pg_temp
AS $$ SELECT pg_advisory_xact_lock(7246012, hashtext(of_wallet)) $$;
--> statement-breakpoint
COMMENT ON FUNCTION engine.hold_closing IS 'Waits for the transactions that change the wallet''s transactions, and holds new ones until the caller''s transaction ends: each sees the closed month, or is in its books';
--> statement-breakpoint
DO $migration$
DECLARE
  each record;
  former text;
  present text;
BEGIN
  FOR each IN
    SELECT v.function, v.rows FROM (VALUES
      ('engine.note_inserted_late()', 'SELECT DISTINCT n.wallet FROM new_rows n WHERE n.wallet <> (SELECT engine.wallet())'),
      ('engine.note_deleted_late()', 'SELECT DISTINCT o.wallet FROM old_rows o WHERE o.wallet <> (SELECT engine.wallet())'),
      ('engine.note_updated_late()', 'SELECT o.wallet FROM old_rows o WHERE o.wallet <> (SELECT engine.wallet()) UNION '
                                  || 'SELECT n.wallet FROM new_rows n WHERE n.wallet <> (SELECT engine.wallet())')) AS v (function, rows)
  LOOP
    former := pg_get_functiondef(each.function::regprocedure);
    present := regexp_replace(former, '(?<=\nBEGIN\n)', format(
      E'  PERFORM engine.share_closing(engine.wallet());\n'
      || E'  PERFORM engine.share_closing(w.wallet) FROM (%s ORDER BY 1) AS w;\n', each.rows));
    ASSERT present <> former;
    EXECUTE present;
  END LOOP;
END $migration$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION engine.hold_writers() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  PERFORM engine.hold_closing(NEW.wallet);
  RETURN NEW;
END $$;
--> statement-breakpoint
DROP TRIGGER closed_months_hold ON ledger.closed_months;
--> statement-breakpoint
CREATE TRIGGER closed_months_hold BEFORE INSERT ON ledger.closed_months
  FOR EACH ROW EXECUTE FUNCTION engine.hold_writers();
--> statement-breakpoint
SELECT engine.make_own_views();
--> statement-breakpoint
SELECT engine.settle_rights();
