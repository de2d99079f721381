CREATE TABLE "ledger"."late_entries" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "ledger"."late_entries_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"month" date NOT NULL,
	"order_no" text NOT NULL,
	"kind" text NOT NULL,
	"symbol" text,
	"amount_change" numeric,
	"recorded_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE INDEX "late_entries_month" ON "ledger"."late_entries" USING btree ("month");
--> statement-breakpoint
COMMENT ON TABLE ledger.late_entries IS 'What came, changed or vanished after its month was closed (closed_months): one row per order, coin and statement, written in the transaction that changed the ledger';
COMMENT ON COLUMN ledger.late_entries.id IS 'Increasing number of the entry';
COMMENT ON COLUMN ledger.late_entries.month IS 'First day of the closed month (UTC)';
COMMENT ON COLUMN ledger.late_entries.order_no IS 'Order identifier (orderNo)';
COMMENT ON COLUMN ledger.late_entries.kind IS 'new: the transaction came or was listed again; unlisted: the service no longer lists it, or it was deleted; changed: its coin, amount, fee, state or time changed';
COMMENT ON COLUMN ledger.late_entries.symbol IS 'Coin symbol code: of the amount, or of the fee where that is another coin; null when the service gave none';
COMMENT ON COLUMN ledger.late_entries.amount_change IS 'By how much the entry changes the coins in custody of that month, in units of the coin; 0 when it moved no money (a pending transaction, for example), null when an amount is not known';
COMMENT ON COLUMN ledger.late_entries.recorded_at IS 'When the transaction that changed the ledger began';
--> statement-breakpoint
-- What a row does to the coins in custody of its month, if that month is closed.
CREATE FUNCTION engine.closed_lines(stream text, of_symbol text, amount numeric, fee numeric, fee_symbol text,
                                    is_booked boolean, booked_at timestamptz)
RETURNS TABLE (month date, symbol text, effect numeric)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
SELECT c.month, l.symbol, l.effect
  FROM ledger.closed_months c
 CROSS JOIN LATERAL (
    SELECT of_symbol, CASE WHEN NOT is_booked THEN 0 WHEN stream = 'deposit' THEN amount ELSE - amount END
    UNION ALL
    SELECT fee_symbol, - fee WHERE is_booked AND fee <> 0 AND fee_symbol IS NOT NULL) AS l (symbol, effect)
 WHERE c.month = date_trunc('month', booked_at AT TIME ZONE 'UTC')::date
$$;
--> statement-breakpoint
CREATE FUNCTION engine.note_inserted_late() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM ledger.closed_months) THEN RETURN NULL; END IF;
  INSERT INTO ledger.late_entries (month, order_no, kind, symbol, amount_change)
  SELECT l.month, n.order_no, 'new', l.symbol, CASE WHEN count(*) = count(l.effect) THEN sum(l.effect) END
    FROM new_rows n
   CROSS JOIN LATERAL engine.closed_lines(n.stream, n.symbol, n.amount, n.fee, n.fee_symbol, n.is_success,
                                          coalesce(n.occurred_at, n.first_seen_at)) AS l
   WHERE n.is_listed
   GROUP BY l.month, n.order_no, l.symbol ORDER BY n.order_no;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE FUNCTION engine.note_deleted_late() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM ledger.closed_months) THEN RETURN NULL; END IF;
  INSERT INTO ledger.late_entries (month, order_no, kind, symbol, amount_change)
  SELECT l.month, o.order_no, 'unlisted', l.symbol, CASE WHEN count(*) = count(l.effect) THEN - sum(l.effect) END
    FROM old_rows o
   CROSS JOIN LATERAL engine.closed_lines(o.stream, o.symbol, o.amount, o.fee, o.fee_symbol, o.is_success,
                                          coalesce(o.occurred_at, o.first_seen_at)) AS l
   WHERE o.is_listed
   GROUP BY l.month, o.order_no, l.symbol ORDER BY o.order_no;
  RETURN NULL;
END $$;
--> statement-breakpoint
-- Takes the rows from the books as they were, and adds them as they are.
CREATE FUNCTION engine.note_updated_late() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM ledger.closed_months) THEN RETURN NULL; END IF;
  INSERT INTO ledger.late_entries (month, order_no, kind, symbol, amount_change)
  WITH changed AS (
    SELECT o.order_no, CASE WHEN NOT o.is_listed THEN 'new' WHEN NOT n.is_listed THEN 'unlisted' ELSE 'changed' END AS kind,
           x.*
      FROM old_rows o JOIN new_rows n ON n.order_no = o.order_no
     CROSS JOIN LATERAL (VALUES
       (-1, o.stream, o.symbol, o.amount, o.fee, o.fee_symbol, o.is_listed, o.is_success, coalesce(o.occurred_at, o.first_seen_at)),
       (1, n.stream, n.symbol, n.amount, n.fee, n.fee_symbol, n.is_listed, n.is_success, coalesce(n.occurred_at, n.first_seen_at))
     ) AS x (sign, stream, symbol, amount, fee, fee_symbol, is_listed, is_success, booked_at)
     WHERE (o.is_listed OR n.is_listed)
       AND (o.stream, o.symbol, o.amount, o.fee, o.fee_symbol, o.state, o.is_success, o.is_listed, o.occurred_at)
           IS DISTINCT FROM (n.stream, n.symbol, n.amount, n.fee, n.fee_symbol, n.state, n.is_success, n.is_listed, n.occurred_at)
  )
  SELECT l.month, c.order_no, c.kind, l.symbol, CASE WHEN count(*) = count(l.effect) THEN sum(c.sign * l.effect) END
    FROM changed c
   CROSS JOIN LATERAL engine.closed_lines(c.stream, c.symbol, c.amount, c.fee, c.fee_symbol, c.is_listed AND c.is_success,
                                          c.booked_at) AS l
   GROUP BY l.month, c.order_no, c.kind, l.symbol ORDER BY c.order_no;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER transactions_inserted_late AFTER INSERT ON ledger.transactions
  REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION engine.note_inserted_late();
--> statement-breakpoint
CREATE TRIGGER transactions_deleted_late AFTER DELETE ON ledger.transactions
  REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION engine.note_deleted_late();
--> statement-breakpoint
CREATE TRIGGER transactions_updated_late AFTER UPDATE ON ledger.transactions
  REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION engine.note_updated_late();
--> statement-breakpoint
-- Waits for the transactions that are writing, and holds new ones until the month is closed: each sees the closed month,
-- or is in its books.
CREATE FUNCTION engine.hold_writers() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  LOCK TABLE ledger.transactions IN SHARE MODE;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER closed_months_hold BEFORE INSERT ON ledger.closed_months
  FOR EACH STATEMENT EXECUTE FUNCTION engine.hold_writers();
--> statement-breakpoint
CREATE OR REPLACE VIEW ledger.daily_totals AS
SELECT s.day, s.stream, s.symbol, k.slip44, s.state, s.is_success, sum(s.transactions)::bigint AS transactions,
       CASE WHEN sum(s.amounts) > 0 THEN sum(s.amount) END AS amount,
       (sum(s.transactions) - sum(s.amounts))::bigint AS unknown_amounts
  FROM engine.daily_sums_now s
  LEFT JOIN ledger.known_chains k
    ON k.symbol = s.symbol AND (k.fee_symbol IS NULL OR s.stream = 'withdraw' AND k.fee_symbol = s.fee_symbol)
 GROUP BY s.day, s.stream, s.symbol, k.slip44, s.state, s.is_success
HAVING sum(s.transactions) <> 0;
--> statement-breakpoint
-- Whole days come from the running totals; of the transactions only the parts of a day at both ends are read, and those
-- without a time.
CREATE FUNCTION ledger.booked_sums(since timestamptz, until timestamptz)
RETURNS TABLE (kind text, symbol text, amount numeric, unknown_amounts bigint)
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
WITH days AS (
  SELECT d.first_day, d.end_day, least(d.first_day::timestamp AT TIME ZONE 'UTC', until) AS head_until,
         greatest(d.end_day::timestamp AT TIME ZONE 'UTC', least(d.first_day::timestamp AT TIME ZONE 'UTC', until)) AS tail_since
    FROM (SELECT CASE WHEN since AT TIME ZONE 'UTC' = date_trunc('day', since AT TIME ZONE 'UTC')
                   THEN (since AT TIME ZONE 'UTC')::date ELSE (since AT TIME ZONE 'UTC')::date + 1 END AS first_day,
                 (until AT TIME ZONE 'UTC')::date AS end_day) AS d
),
ends AS MATERIALIZED (
  SELECT t.stream, t.symbol, t.amount, t.fee_symbol, t.fee
    FROM days d CROSS JOIN (VALUES (true), (false)) AS e (is_head)
    JOIN ledger.transactions t
      ON t.stream IN ('deposit', 'withdraw')
     AND t.occurred_at >= CASE WHEN e.is_head THEN since ELSE d.tail_since END
     AND t.occurred_at < CASE WHEN e.is_head THEN d.head_until ELSE until END
   WHERE t.is_success AND t.is_listed
  UNION ALL
  SELECT t.stream, t.symbol, t.amount, t.fee_symbol, t.fee
    FROM ledger.transactions t
   WHERE t.stream IN ('deposit', 'withdraw') AND t.occurred_at IS NULL AND t.is_success AND t.is_listed
     AND t.first_seen_at >= since AND t.first_seen_at < until
)
SELECT x.kind, x.symbol, sum(x.amount), sum(x.unknown_amounts)::bigint
  FROM (SELECT CASE s.stream WHEN 'deposit' THEN 'deposits' ELSE 'withdrawals' END AS kind, s.symbol,
               coalesce(s.amount, 0) AS amount, s.unknown_amounts
          FROM days d JOIN ledger.daily_totals s ON s.day >= d.first_day AND s.day < d.end_day
         WHERE s.is_success AND s.stream IN ('deposit', 'withdraw')
        UNION ALL
        SELECT 'fees', f.fee_symbol, f.fee, 0
          FROM days d JOIN ledger.daily_fees f ON f.day >= d.first_day AND f.day < d.end_day
         WHERE f.is_success AND f.stream IN ('deposit', 'withdraw')
        UNION ALL
        SELECT CASE t.stream WHEN 'deposit' THEN 'deposits' ELSE 'withdrawals' END, t.symbol, coalesce(t.amount, 0),
               (t.amount IS NULL)::integer
          FROM ends t
        UNION ALL
        SELECT 'fees', t.fee_symbol, t.fee, 0 FROM ends t WHERE t.fee IS NOT NULL) AS x
 WHERE x.symbol IS NOT NULL
 GROUP BY x.kind, x.symbol
$$;
--> statement-breakpoint
-- The balance of a coin over all chains at a moment: as it was read; before the first reading, that less what was booked
-- in between. Null where nothing tells: never read, not listed then, or an amount in between is not known.
CREATE FUNCTION ledger.balance_at(of_symbol text, at timestamptz, OUT balance numeric, OUT is_computed boolean)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  first_at timestamptz;
BEGIN
  SELECT min(f.observed_at) INTO first_at
    FROM ledger.balances b
   CROSS JOIN LATERAL (
      SELECT c.observed_at FROM ledger.balance_changes c
       WHERE c.slip44 = b.slip44 AND c.symbol = b.symbol AND c.contract_address = b.contract_address
       ORDER BY c.observed_at LIMIT 1) AS f
   WHERE b.symbol = of_symbol;
  is_computed := at < first_at;
  SELECT CASE WHEN bool_and(b.balance IS NOT NULL) THEN sum(b.balance) END INTO balance
    FROM ledger.balances_at(greatest(at, first_at)) b WHERE b.symbol = of_symbol AND b.is_listed;
  IF is_computed THEN
    SELECT CASE WHEN coalesce(sum(m.unknown_amounts), 0) = 0
             THEN balance_at.balance - coalesce(sum(CASE m.kind WHEN 'deposits' THEN m.amount ELSE - m.amount END), 0) END
      INTO balance
      FROM ledger.booked_sums(at, first_at) m WHERE m.symbol = of_symbol;
  END IF;
END $$;
--> statement-breakpoint
CREATE FUNCTION ledger.account_statement(symbol text, "from" date, "to" date)
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
   CROSS JOIN LATERAL ledger.balance_at(account_statement.symbol, p.begins_at) AS o
   CROSS JOIN LATERAL ledger.balance_at(account_statement.symbol, p.ends_at) AS c
),
posted AS MATERIALIZED (
  SELECT b.booked_at, b.order_no, b.posting_no, b.account, - b.amount AS amount
    FROM period p
    JOIN ledger.postings b ON b.booked_at >= p.begins_at AND b.booked_at < p.ends_at
   WHERE b.symbol = account_statement.symbol AND b.posting_no IN (2, 4)
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
CREATE FUNCTION ledger.trial_balance_at(at timestamptz)
RETURNS TABLE (account text, symbol text, amount numeric, reported numeric)
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
WITH held AS (
  SELECT b.symbol, CASE WHEN bool_and(b.balance IS NOT NULL) THEN sum(b.balance) END AS balance
    FROM ledger.balances_at(at) b WHERE b.is_listed GROUP BY b.symbol
),
sums AS (
  SELECT x.role, x.symbol, sum(x.amount) AS amount
    FROM ledger.booked_sums('-infinity', at) b
   CROSS JOIN LATERAL (VALUES
     ('custody', b.symbol, CASE b.kind WHEN 'deposits' THEN b.amount ELSE - b.amount END),
     (CASE b.kind WHEN 'deposits' THEN 'customers' WHEN 'withdrawals' THEN 'withdrawn' ELSE 'fees' END, b.symbol,
      CASE b.kind WHEN 'deposits' THEN - b.amount ELSE b.amount END)) AS x (role, symbol, amount)
   GROUP BY x.role, x.symbol
)
SELECT coalesce(a.name, t.role), t.symbol, t.amount, t.reported
  FROM (SELECT s.role, s.symbol, s.amount, h.balance AS reported
          FROM sums s LEFT JOIN held h ON h.symbol = s.symbol AND s.role = 'custody'
        UNION ALL
        SELECT 'custody', h.symbol, 0, h.balance FROM held h
         WHERE NOT EXISTS (SELECT FROM sums s WHERE s.role = 'custody' AND s.symbol = h.symbol)) AS t
  LEFT JOIN ledger.accounts a ON a.role = t.role
$$;
--> statement-breakpoint
CREATE VIEW ledger.chains AS
SELECT k.slip44, n.chain_name AS name, coalesce(n.chain_symbol, m.symbol) AS symbol
  FROM (SELECT b.slip44 FROM ledger.balances b
        UNION SELECT c.slip44 FROM ledger.coins c
        UNION SELECT p.slip44 FROM ledger.pools p) AS k
  LEFT JOIN LATERAL (
    SELECT b.chain_name, b.chain_symbol FROM ledger.balances b
     WHERE b.slip44 = k.slip44 AND coalesce(b.chain_name, b.chain_symbol) IS NOT NULL
     ORDER BY b.is_listed DESC, b.chain_name IS NULL, b.changed_at DESC, b.symbol, b.contract_address LIMIT 1) AS n ON true
  LEFT JOIN LATERAL (
    SELECT min(a.symbol) AS symbol FROM ledger.assets a
     WHERE a.slip44 = k.slip44 AND a.contract_address = '' HAVING count(*) = 1) AS m ON true;
--> statement-breakpoint
CREATE FUNCTION ledger.contract_version() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT '1.0' $$;
--> statement-breakpoint
CREATE VIEW ledger.contract AS
SELECT c.relname::text AS relation, a.attname::text AS "column", format_type(a.atttypid, a.atttypmod) AS type,
       CASE WHEN a.atttypid = 'numeric'::regtype THEN 'units of the coin'
            WHEN a.atttypid = 'timestamptz'::regtype THEN 'instant'
            WHEN a.atttypid = 'date'::regtype THEN 'UTC day'
            WHEN a.attname LIKE '%\_seconds' THEN 'seconds'
            WHEN a.attname IN ('transactions', 'service_total', 'ledger_count', 'available', 'assigned', 'used', 'threshold',
                               'target', 'rows_seen', 'rows_inserted', 'rows_updated', 'requests') THEN 'number' END AS unit,
       d.description AS meaning, '1.0'::text AS since,
       CASE WHEN d.description LIKE 'Deprecated%' THEN substring(d.description FROM '^Deprecated[:,]? *(.*)$') END AS deprecated
  FROM pg_class c
  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  LEFT JOIN pg_description d ON d.classoid = 'pg_class'::regclass AND d.objoid = c.oid AND d.objsubid = a.attnum
 WHERE c.relnamespace = 'ledger'::regnamespace AND c.relkind IN ('r', 'p', 'v')
   AND coalesce(d.description, '') NOT LIKE 'Internal%'
   AND coalesce(obj_description(c.oid, 'pg_class'), '') NOT LIKE 'Internal%';
--> statement-breakpoint
COMMENT ON COLUMN ledger.daily_totals.unknown_amounts IS 'Number of transactions whose amount is not known, and which amount leaves out';
COMMENT ON FUNCTION ledger.booked_sums IS 'Sums of the deposits, withdrawals and fees (kind) that were booked from one moment until before another, per coin. Whole days come from running totals. unknown_amounts: how many amounts are not known and left out';
COMMENT ON FUNCTION ledger.balance_at IS 'Balance of a coin over all chains at a moment. Before the first reading it is computed back from that reading by what was booked in between, and is_computed is true. Null if the coin was never read or not listed then, or if an amount in between is not known';
COMMENT ON FUNCTION ledger.account_statement IS 'Statement of one coin over all chains, both days included (UTC): one line for the opening balance, one per posting on custody with the other account and the running balance, one for what is left over, one for the closing balance. Left over is what the balance changed beyond the postings: transactions pending at either end, and money that the balance counts at another time. A balance before the first reading is computed back from that reading by the postings, and is_computed is true; it is null where no reading or an unknown amount allows none, never 0 for unknown. Line numbers count from 1';
COMMENT ON FUNCTION ledger.trial_balance_at IS 'Sum of the postings booked before a moment, per account and coin, debits positive; customers are one account here, without references. reported is the balance over all chains as it had been read then, beside the custody of the coin: null before the first reading and for other accounts. Whole days come from running totals';
COMMENT ON FUNCTION ledger.contract_version IS 'Version of what ledger.contract promises: within a major version nothing is removed and nothing changes its meaning';
COMMENT ON VIEW ledger.chains IS 'Chains that the wallet uses';
COMMENT ON COLUMN ledger.chains.slip44 IS 'slip44 code of the chain';
COMMENT ON COLUMN ledger.chains.name IS 'Name of the chain as the balances say (chainName); null when no balance names it';
COMMENT ON COLUMN ledger.chains.symbol IS 'Symbol of the chain as the balances say (chainSymbol), or of its only main-chain coin; null when it is not known';
COMMENT ON VIEW ledger.contract IS 'What analysts may rely on: one row per column of the tables and views, except those that are internal. Read from the catalogue';
COMMENT ON COLUMN ledger.contract.relation IS 'Table or view in the schema ledger';
COMMENT ON COLUMN ledger.contract."column" IS 'Column';
COMMENT ON COLUMN ledger.contract.type IS 'Type of the column';
COMMENT ON COLUMN ledger.contract.unit IS 'Unit of the values: units of the coin, instant (absolute, whatever the time zone of the session), UTC day, seconds or number; null for texts and keys';
COMMENT ON COLUMN ledger.contract.meaning IS 'What the column means';
COMMENT ON COLUMN ledger.contract.since IS 'Version of the contract that promised the column first';
COMMENT ON COLUMN ledger.contract.deprecated IS 'What to use instead, if the column goes with the next major version; null as a rule';
