CREATE TABLE "engine"."all_sums" (
	"key" uuid PRIMARY KEY NOT NULL,
	"stream" text NOT NULL,
	"symbol" text,
	"state" text,
	"is_success" boolean NOT NULL,
	"fee_symbol" text,
	"transactions" bigint NOT NULL,
	"amounts" bigint NOT NULL,
	"amount" numeric NOT NULL,
	"fees" bigint NOT NULL,
	"fee" numeric NOT NULL,
	"largest_fee" numeric
);
--> statement-breakpoint
CREATE TABLE "engine"."daily_sums" (
	"key" uuid PRIMARY KEY NOT NULL,
	"day" date,
	"stream" text NOT NULL,
	"symbol" text,
	"state" text,
	"is_success" boolean NOT NULL,
	"fee_symbol" text,
	"transactions" bigint NOT NULL,
	"amounts" bigint NOT NULL,
	"amount" numeric NOT NULL,
	"fees" bigint NOT NULL,
	"fee" numeric NOT NULL,
	"largest_fee" numeric
);
--> statement-breakpoint
CREATE TABLE "engine"."total_changes" (
	"id" bigint GENERATED ALWAYS AS IDENTITY (sequence name "engine"."total_changes_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"day" date,
	"stream" text NOT NULL,
	"symbol" text,
	"state" text,
	"is_success" boolean NOT NULL,
	"fee_symbol" text,
	"transactions" bigint NOT NULL,
	"amounts" bigint NOT NULL,
	"amount" numeric NOT NULL,
	"fees" bigint NOT NULL,
	"fee" numeric NOT NULL,
	"largest_fee" numeric,
	"lost_fee" numeric
);
--> statement-breakpoint
CREATE INDEX "daily_sums_day" ON "engine"."daily_sums" USING btree ("day");
--> statement-breakpoint
COMMENT ON TABLE engine.daily_sums IS 'Sums of the listed transactions per UTC day and group; the views daily_totals, daily_flows and daily_fees add total_changes to them';
COMMENT ON TABLE engine.all_sums IS 'Sums of the listed transactions per group over all days, which reconciliation reads; total_changes is added to them';
COMMENT ON TABLE engine.total_changes IS 'What statements added to the sums and took from them since engine.fold_totals ran last. Rows are only added, so that writers never wait for one another';
COMMENT ON COLUMN engine.total_changes.id IS 'Increasing; each thousandth row makes its writer add the changes up';
COMMENT ON COLUMN engine.total_changes.lost_fee IS 'Largest fee of a transaction that left the group, where none as large came; null otherwise';
--> statement-breakpoint
DO $$
DECLARE
  each text;
BEGIN
  FOREACH each IN ARRAY ARRAY['daily_sums', 'all_sums', 'total_changes'] LOOP
    EXECUTE format($sql$
      COMMENT ON COLUMN engine.%1$I.stream IS 'deposit or withdraw';
      COMMENT ON COLUMN engine.%1$I.symbol IS 'Coin symbol code; null when the service gave none';
      COMMENT ON COLUMN engine.%1$I.state IS 'State as the service says';
      COMMENT ON COLUMN engine.%1$I.is_success IS 'As transactions.is_success';
      COMMENT ON COLUMN engine.%1$I.fee_symbol IS 'Coin of the fee; null when it is not known';
      COMMENT ON COLUMN engine.%1$I.transactions IS 'Number of transactions';
      COMMENT ON COLUMN engine.%1$I.amounts IS 'Number of those whose amount is known';
      COMMENT ON COLUMN engine.%1$I.amount IS 'Sum of the known amounts';
      COMMENT ON COLUMN engine.%1$I.fees IS 'Number of those whose fee is known';
      COMMENT ON COLUMN engine.%1$I.fee IS 'Sum of the known fees';
      COMMENT ON COLUMN engine.%1$I.largest_fee IS 'Largest fee; null when none is known'$sql$, each);
    IF each <> 'total_changes' THEN
      EXECUTE format('COMMENT ON COLUMN engine.%1$I.key IS ''Hash of the group''; ALTER TABLE engine.%1$I SET (fillfactor = 80)', each);
    END IF;
    IF each <> 'all_sums' THEN
      EXECUTE format('COMMENT ON COLUMN engine.%1$I.day IS ''UTC day of the transactions; null for those whose time is unreadable''', each);
    END IF;
  END LOOP;
END $$;
--> statement-breakpoint
CREATE FUNCTION engine.sum_key(VARIADIC parts text[]) RETURNS uuid
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT md5(to_jsonb(parts)::text)::uuid $$;
--> statement-breakpoint
-- Adds the committed changes up. Nobody waits for it, and it waits for nobody: one transaction at a time does it, and
-- it alone writes the sums. A transaction that keeps its snapshot would fail on changes that another one took.
CREATE FUNCTION engine.fold_totals() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  emptied uuid[];
  lost uuid[];
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' OR NOT pg_try_advisory_xact_lock(7246007) THEN
    RETURN;
  END IF;
  WITH taken AS (DELETE FROM engine.total_changes RETURNING *),
  grouped AS MATERIALIZED (
    SELECT engine.sum_key(extract(epoch FROM t.day)::text, t.stream, t.symbol, t.state, t.is_success::text, t.fee_symbol) AS key, t.day,
           t.stream, t.symbol, t.state, t.is_success, t.fee_symbol, sum(t.transactions) AS transactions,
           sum(t.amounts) AS amounts, sum(t.amount) AS amount, sum(t.fees) AS fees, sum(t.fee) AS fee,
           max(t.largest_fee) AS largest_fee, max(t.lost_fee) AS lost_fee
      FROM taken t GROUP BY t.day, t.stream, t.symbol, t.state, t.is_success, t.fee_symbol
  ),
  daily AS (
    INSERT INTO engine.daily_sums AS s
    SELECT g.key, g.day, g.stream, g.symbol, g.state, g.is_success, g.fee_symbol, g.transactions, g.amounts, g.amount,
           g.fees, g.fee, g.largest_fee
      FROM grouped g
    ON CONFLICT (key) DO UPDATE
      SET transactions = s.transactions + excluded.transactions, amounts = s.amounts + excluded.amounts,
          amount = s.amount + excluded.amount, fees = s.fees + excluded.fees, fee = s.fee + excluded.fee,
          largest_fee = greatest(s.largest_fee, excluded.largest_fee)
    RETURNING s.key, s.transactions, s.largest_fee
  ),
  overall AS (
    INSERT INTO engine.all_sums AS s
    SELECT engine.sum_key(g.stream, g.symbol, g.state, g.is_success::text, g.fee_symbol), g.stream, g.symbol, g.state,
           g.is_success, g.fee_symbol, sum(g.transactions), sum(g.amounts), sum(g.amount), sum(g.fees), sum(g.fee),
           max(g.largest_fee)
      FROM grouped g GROUP BY g.stream, g.symbol, g.state, g.is_success, g.fee_symbol
    ON CONFLICT (key) DO UPDATE
      SET transactions = s.transactions + excluded.transactions, amounts = s.amounts + excluded.amounts,
          amount = s.amount + excluded.amount, fees = s.fees + excluded.fees, fee = s.fee + excluded.fee,
          largest_fee = greatest(s.largest_fee, excluded.largest_fee)
    RETURNING s.key, s.transactions
  )
  SELECT array_agg(d.key) FILTER (WHERE d.transactions = 0)
           || (SELECT array_agg(o.key) FILTER (WHERE o.transactions = 0) FROM overall o),
         array_agg(d.key) FILTER (WHERE d.transactions <> 0 AND g.lost_fee >= d.largest_fee)
    INTO emptied, lost
    FROM daily d JOIN grouped g ON g.key = d.key;
  IF emptied IS NOT NULL THEN
    DELETE FROM engine.daily_sums s WHERE s.key = ANY (emptied);
    DELETE FROM engine.all_sums s WHERE s.key = ANY (emptied);
  END IF;
  IF lost IS NOT NULL THEN
    PERFORM engine.find_largest_fees(lost);
  END IF;
END $$;
--> statement-breakpoint
-- Only the transactions of the groups' days are read.
CREATE FUNCTION engine.find_largest_fees(keys uuid[]) RETURNS void
LANGUAGE sql
SET search_path = pg_catalog, pg_temp
AS $$
UPDATE engine.daily_sums s
   SET largest_fee = (SELECT max(t.fee) FROM ledger.transactions t
                         WHERE t.stream = s.stream AND t.is_listed AND t.is_success = s.is_success
                           AND (t.symbol, t.state, t.fee_symbol) IS NOT DISTINCT FROM (s.symbol, s.state, s.fee_symbol)
                           AND CASE WHEN s.day IS NULL THEN t.occurred_at IS NULL
                                    ELSE (t.occurred_at AT TIME ZONE 'UTC')::date = s.day END)
 WHERE s.key = ANY (keys);
UPDATE engine.all_sums a
   SET largest_fee = (SELECT max(s.largest_fee) FROM engine.daily_sums s
                       WHERE (s.stream, s.is_success) = (a.stream, a.is_success)
                         AND (s.symbol, s.state, s.fee_symbol) IS NOT DISTINCT FROM (a.symbol, a.state, a.fee_symbol))
 WHERE a.key IN (SELECT engine.sum_key(s.stream, s.symbol, s.state, s.is_success::text, s.fee_symbol)
                   FROM engine.daily_sums s WHERE s.key = ANY (keys));
$$;
--> statement-breakpoint
CREATE FUNCTION engine.note_inserted_totals() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  first_id bigint;
  last_id bigint;
BEGIN
  WITH added AS (
    INSERT INTO engine.total_changes
      (day, stream, symbol, state, is_success, fee_symbol, transactions, amounts, amount, fees, fee, largest_fee)
    SELECT (n.occurred_at AT TIME ZONE 'UTC')::date, n.stream, n.symbol, n.state, n.is_success, n.fee_symbol, count(*),
           count(n.amount), coalesce(sum(n.amount), 0), count(n.fee), coalesce(sum(n.fee), 0), max(n.fee)
      FROM new_rows n WHERE n.is_listed GROUP BY 1, 2, 3, 4, 5, 6
    RETURNING id)
  SELECT min(a.id), max(a.id) INTO first_id, last_id FROM added a;
  IF last_id / 1000 > (first_id - 1) / 1000 THEN PERFORM engine.fold_totals(); END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE FUNCTION engine.note_deleted_totals() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  INSERT INTO engine.total_changes
    (day, stream, symbol, state, is_success, fee_symbol, transactions, amounts, amount, fees, fee, lost_fee)
  SELECT (o.occurred_at AT TIME ZONE 'UTC')::date, o.stream, o.symbol, o.state, o.is_success, o.fee_symbol, - count(*),
         - count(o.amount), - coalesce(sum(o.amount), 0), - count(o.fee), - coalesce(sum(o.fee), 0), max(o.fee)
    FROM old_rows o WHERE o.is_listed GROUP BY 1, 2, 3, 4, 5, 6;
  PERFORM engine.fold_totals();
  RETURN NULL;
END $$;
--> statement-breakpoint
-- Takes the rows from the sums as they were, and adds them as they are. What does not change any sum adds nothing.
CREATE FUNCTION engine.note_updated_totals() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  first_id bigint;
  last_id bigint;
BEGIN
  WITH added AS (
    INSERT INTO engine.total_changes
      (day, stream, symbol, state, is_success, fee_symbol, transactions, amounts, amount, fees, fee, largest_fee, lost_fee)
    SELECT g.day, g.stream, g.symbol, g.state, g.is_success, g.fee_symbol, g.transactions, g.amounts, g.amount, g.fees,
           g.fee, g.largest_fee, CASE WHEN g.former_fee > coalesce(g.largest_fee, '-Infinity') THEN g.former_fee END
      FROM (SELECT (x.occurred_at AT TIME ZONE 'UTC')::date AS day, x.stream, x.symbol, x.state, x.is_success,
                   x.fee_symbol, sum(x.sign) AS transactions,
                   coalesce(sum(x.sign) FILTER (WHERE x.amount IS NOT NULL), 0) AS amounts,
                   coalesce(sum(x.sign * x.amount), 0) AS amount,
                   coalesce(sum(x.sign) FILTER (WHERE x.fee IS NOT NULL), 0) AS fees,
                   coalesce(sum(x.sign * x.fee), 0) AS fee,
                   max(x.fee) FILTER (WHERE x.sign = 1) AS largest_fee,
                   max(x.fee) FILTER (WHERE x.sign = -1) AS former_fee
              FROM (SELECT 1 AS sign, n.stream, n.occurred_at, n.symbol, n.state, n.is_success, n.fee_symbol, n.amount, n.fee
                      FROM new_rows n WHERE n.is_listed
                    UNION ALL
                    SELECT -1, o.stream, o.occurred_at, o.symbol, o.state, o.is_success, o.fee_symbol, o.amount, o.fee
                      FROM old_rows o WHERE o.is_listed) AS x
             GROUP BY 1, 2, 3, 4, 5, 6) AS g
     WHERE (g.transactions, g.amounts, g.amount, g.fees, g.fee) <> (0, 0, 0, 0, 0)
        OR g.former_fee IS DISTINCT FROM g.largest_fee
    RETURNING id)
  SELECT min(a.id), max(a.id) INTO first_id, last_id FROM added a;
  IF last_id / 1000 > (first_id - 1) / 1000 THEN PERFORM engine.fold_totals(); END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
-- Nobody else writes then, because TRUNCATE locks the transactions.
CREATE FUNCTION engine.note_truncated_totals() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  DELETE FROM engine.total_changes;
  DELETE FROM engine.daily_sums;
  DELETE FROM engine.all_sums;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER transactions_inserted_totals AFTER INSERT ON ledger.transactions
  REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION engine.note_inserted_totals();
--> statement-breakpoint
CREATE TRIGGER transactions_updated_totals AFTER UPDATE ON ledger.transactions
  REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION engine.note_updated_totals();
--> statement-breakpoint
CREATE TRIGGER transactions_deleted_totals AFTER DELETE ON ledger.transactions
  REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION engine.note_deleted_totals();
--> statement-breakpoint
CREATE TRIGGER transactions_truncated_totals AFTER TRUNCATE ON ledger.transactions
  FOR EACH STATEMENT EXECUTE FUNCTION engine.note_truncated_totals();
--> statement-breakpoint
CREATE VIEW engine.daily_sums_now AS
SELECT s.day, s.stream, s.symbol, s.state, s.is_success, s.fee_symbol, s.transactions, s.amounts, s.amount, s.fees, s.fee,
       s.largest_fee
  FROM engine.daily_sums s
UNION ALL
SELECT c.day, c.stream, c.symbol, c.state, c.is_success, c.fee_symbol, c.transactions, c.amounts, c.amount, c.fees, c.fee,
       c.largest_fee
  FROM engine.total_changes c;
--> statement-breakpoint
CREATE VIEW engine.all_sums_now AS
SELECT x.stream, x.symbol, x.state, x.is_success, x.fee_symbol, sum(x.transactions)::bigint AS transactions,
       sum(x.amounts)::bigint AS amounts, sum(x.amount) AS amount, sum(x.fees)::bigint AS fees, sum(x.fee) AS fee,
       max(x.largest_fee) AS largest_fee
  FROM (SELECT s.stream, s.symbol, s.state, s.is_success, s.fee_symbol, s.transactions, s.amounts, s.amount, s.fees, s.fee,
               s.largest_fee
          FROM engine.all_sums s
        UNION ALL
        SELECT c.stream, c.symbol, c.state, c.is_success, c.fee_symbol, c.transactions, c.amounts, c.amount, c.fees, c.fee,
               c.largest_fee
          FROM engine.total_changes c) AS x
 GROUP BY x.stream, x.symbol, x.state, x.is_success, x.fee_symbol
HAVING sum(x.transactions) <> 0;
--> statement-breakpoint
-- What a recount of the history would add to the sums, group by group; no rows: they are right.
CREATE VIEW ledger.total_drift AS
SELECT x.day, x.stream, x.symbol, x.state, x.is_success, x.fee_symbol, sum(x.transactions)::bigint AS transactions,
       sum(x.amounts)::bigint AS amounts, sum(x.amount) AS amount, sum(x.fees)::bigint AS fees, sum(x.fee) AS fee
  FROM (SELECT (t.occurred_at AT TIME ZONE 'UTC')::date AS day, t.stream, t.symbol, t.state, t.is_success, t.fee_symbol,
               count(*) AS transactions, count(t.amount) AS amounts, coalesce(sum(t.amount), 0) AS amount,
               count(t.fee) AS fees, coalesce(sum(t.fee), 0) AS fee
          FROM ledger.transactions t WHERE t.is_listed GROUP BY 1, 2, 3, 4, 5, 6
        UNION ALL
        SELECT s.day, s.stream, s.symbol, s.state, s.is_success, s.fee_symbol, - s.transactions, - s.amounts, - s.amount,
               - s.fees, - s.fee
          FROM engine.daily_sums_now s) AS x
 GROUP BY x.day, x.stream, x.symbol, x.state, x.is_success, x.fee_symbol
HAVING (sum(x.transactions), sum(x.amounts), sum(x.amount), sum(x.fees), sum(x.fee)) <> (0, 0, 0, 0, 0);
--> statement-breakpoint
INSERT INTO engine.daily_sums
SELECT engine.sum_key(extract(epoch FROM g.day)::text, g.stream, g.symbol, g.state, g.is_success::text, g.fee_symbol), g.*
  FROM (SELECT (t.occurred_at AT TIME ZONE 'UTC')::date AS day, t.stream, t.symbol, t.state, t.is_success, t.fee_symbol,
               count(*), count(t.amount), coalesce(sum(t.amount), 0), count(t.fee), coalesce(sum(t.fee), 0), max(t.fee)
          FROM ledger.transactions t WHERE t.is_listed GROUP BY 1, 2, 3, 4, 5, 6) AS g;
--> statement-breakpoint
INSERT INTO engine.all_sums
SELECT engine.sum_key(g.stream, g.symbol, g.state, g.is_success::text, g.fee_symbol), g.*
  FROM (SELECT s.stream, s.symbol, s.state, s.is_success, s.fee_symbol, sum(s.transactions), sum(s.amounts), sum(s.amount),
               sum(s.fees), sum(s.fee), max(s.largest_fee)
          FROM engine.daily_sums s GROUP BY 1, 2, 3, 4, 5) AS g;
--> statement-breakpoint
-- Assets as balances and coins name them.
CREATE VIEW ledger.assets AS
SELECT b.slip44, b.symbol, b.contract_address FROM ledger.balances b
UNION
SELECT c.slip44, c.symbol, c.contract_address FROM ledger.coins c;
--> statement-breakpoint
-- The chain of what a symbol and a fee's coin tell: the only chain of the symbol, or for a withdrawal the only chain
-- whose main coin the fee is in, if it has one asset of the symbol.
CREATE VIEW ledger.known_chains AS
SELECT a.symbol, NULL::text AS fee_symbol, min(a.slip44) AS slip44
  FROM ledger.assets a GROUP BY a.symbol HAVING count(*) = 1
UNION ALL
SELECT a.symbol, m.symbol, a.slip44
  FROM (SELECT x.symbol, min(x.slip44) AS slip44 FROM ledger.assets x
         WHERE x.contract_address = '' GROUP BY x.symbol HAVING count(*) = 1) AS m
  JOIN (SELECT y.symbol, y.slip44 FROM ledger.assets y
         WHERE y.symbol IN (SELECT z.symbol FROM ledger.assets z GROUP BY z.symbol HAVING count(*) > 1)
         GROUP BY y.symbol, y.slip44 HAVING count(*) = 1) AS a ON a.slip44 = m.slip44;
--> statement-breakpoint
CREATE VIEW ledger.daily_totals AS
SELECT s.day, s.stream, s.symbol, k.slip44, s.state, s.is_success, sum(s.transactions)::bigint AS transactions,
       CASE WHEN sum(s.amounts) > 0 THEN sum(s.amount) END AS amount
  FROM engine.daily_sums_now s
  LEFT JOIN ledger.known_chains k
    ON k.symbol = s.symbol AND (k.fee_symbol IS NULL OR s.stream = 'withdraw' AND k.fee_symbol = s.fee_symbol)
 GROUP BY s.day, s.stream, s.symbol, k.slip44, s.state, s.is_success
HAVING sum(s.transactions) <> 0;
--> statement-breakpoint
CREATE OR REPLACE VIEW ledger.daily_flows AS
SELECT g.day, g.symbol, g.stream AS type, g.state, sum(g.transactions)::bigint AS transactions,
       CASE WHEN sum(g.amounts) > 0 THEN sum(g.amount) END AS amount,
       coalesce(jsonb_object_agg(coalesce(g.fee_symbol, ''), g.fee) FILTER (WHERE g.fees > 0), '{}') AS fees,
       g.slip44, g.stream, g.is_success
  FROM (SELECT s.day, s.symbol, s.stream, s.state, s.is_success, s.fee_symbol, k.slip44,
               sum(s.transactions) AS transactions, sum(s.amounts) AS amounts, sum(s.amount) AS amount,
               sum(s.fees) AS fees, sum(s.fee) AS fee
          FROM engine.daily_sums_now s
          LEFT JOIN ledger.known_chains k
            ON k.symbol = s.symbol AND (k.fee_symbol IS NULL OR s.stream = 'withdraw' AND k.fee_symbol = s.fee_symbol)
         GROUP BY 1, 2, 3, 4, 5, 6, 7 HAVING sum(s.transactions) <> 0) AS g
 GROUP BY g.day, g.symbol, g.stream, g.state, g.slip44, g.is_success;
--> statement-breakpoint
CREATE VIEW ledger.daily_fees AS
SELECT s.day, s.symbol, s.stream, s.state, s.is_success, s.fee_symbol, sum(s.fee) AS fee
  FROM engine.daily_sums_now s
 GROUP BY s.day, s.symbol, s.stream, s.state, s.is_success, s.fee_symbol
HAVING sum(s.fees) <> 0;
--> statement-breakpoint
-- Makes the sums those of a recount, and returns how many groups were wrong. Only changes are added, from one snapshot,
-- so that nobody has to wait meanwhile.
CREATE FUNCTION engine.mend_totals() RETURNS bigint
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  mended bigint;
BEGIN
  PERFORM pg_advisory_xact_lock(7246007);
  INSERT INTO engine.total_changes (day, stream, symbol, state, is_success, fee_symbol, transactions, amounts, amount, fees, fee)
  SELECT d.day, d.stream, d.symbol, d.state, d.is_success, d.fee_symbol, d.transactions, d.amounts, d.amount, d.fees, d.fee
    FROM ledger.total_drift d;
  GET DIAGNOSTICS mended = ROW_COUNT;
  PERFORM engine.fold_totals();
  UPDATE engine.daily_sums s SET largest_fee = c.largest_fee
    FROM (SELECT engine.sum_key(extract(epoch FROM g.day)::text, g.stream, g.symbol, g.state, g.is_success::text, g.fee_symbol) AS key,
                 g.largest_fee
            FROM (SELECT (t.occurred_at AT TIME ZONE 'UTC')::date AS day, t.stream, t.symbol, t.state, t.is_success,
                         t.fee_symbol, max(t.fee) AS largest_fee
                    FROM ledger.transactions t WHERE t.is_listed GROUP BY 1, 2, 3, 4, 5, 6) AS g) AS c
   WHERE s.key = c.key AND s.largest_fee IS DISTINCT FROM c.largest_fee;
  UPDATE engine.all_sums s SET largest_fee = c.largest_fee
    FROM (SELECT engine.sum_key(d.stream, d.symbol, d.state, d.is_success::text, d.fee_symbol) AS key,
                 max(d.largest_fee) AS largest_fee
            FROM engine.daily_sums d GROUP BY 1) AS c
   WHERE s.key = c.key AND s.largest_fee IS DISTINCT FROM c.largest_fee;
  RETURN mended;
END $$;
--> statement-breakpoint
COMMENT ON VIEW engine.daily_sums_now IS 'Sums per UTC day and group, to be added up: those that were folded, and the changes since';
COMMENT ON VIEW engine.all_sums_now IS 'Sums per group over all days as of now';
COMMENT ON VIEW ledger.total_drift IS 'What a recount of the transactions would add to the sums; no rows: they are right';
COMMENT ON VIEW ledger.assets IS 'Assets that the balances or the coins name';
COMMENT ON VIEW ledger.known_chains IS 'Chain of the transactions of a symbol, and of its withdrawals with a fee in fee_symbol where that is not null';
--> statement-breakpoint
COMMENT ON VIEW ledger.daily_totals IS 'Number and sum of the listed transactions per UTC day, list, coin, chain and state; right at every commit, whoever writes, and read without reading the transactions';
COMMENT ON COLUMN ledger.daily_totals.day IS 'UTC day of the transactions (occurred_at); null for those whose time is unreadable';
COMMENT ON COLUMN ledger.daily_totals.stream IS 'The list that counts the transactions: deposit or withdraw';
COMMENT ON COLUMN ledger.daily_totals.symbol IS 'Coin symbol code; null when the service gave none';
COMMENT ON COLUMN ledger.daily_totals.slip44 IS 'slip44 code of the chain, where the symbol names one asset only, or a withdrawal pays its fee in the main coin of one chain; null when it is not known';
COMMENT ON COLUMN ledger.daily_totals.state IS 'State as the service says';
COMMENT ON COLUMN ledger.daily_totals.is_success IS 'As transactions.is_success: the transactions moved money';
COMMENT ON COLUMN ledger.daily_totals.transactions IS 'Number of transactions';
COMMENT ON COLUMN ledger.daily_totals.amount IS 'Sum of their amounts in units of the coin; amounts that are not known are left out, null when none is known';
--> statement-breakpoint
COMMENT ON VIEW ledger.daily_flows IS 'Movements of each UTC day, per coin, chain, list and state; only transactions that the service still lists. Read from running totals. Trap: count only rows with is_success as money that moved';
COMMENT ON COLUMN ledger.daily_flows.type IS 'Deprecated: the same as stream';
COMMENT ON COLUMN ledger.daily_flows.fees IS 'Deprecated, see daily_fees: sums of their fees by fee coin, as {"ETH": 0.02}; {} when no fee is known; the key is empty where a fee names no coin';
COMMENT ON COLUMN ledger.daily_flows.slip44 IS 'slip44 code of the chain, as in daily_totals; null when it is not known';
COMMENT ON COLUMN ledger.daily_flows.stream IS 'The list that counts the transactions: deposit or withdraw';
COMMENT ON COLUMN ledger.daily_flows.is_success IS 'As transactions.is_success: the transactions moved money';
--> statement-breakpoint
COMMENT ON VIEW ledger.daily_fees IS 'Fees of each UTC day, per coin of the transaction and coin of the fee; only transactions that the service still lists. Read from running totals. Trap: fees of failed transactions have rows too, see is_success';
COMMENT ON COLUMN ledger.daily_fees.day IS 'UTC day of the transactions (occurred_at); null for those whose time is unreadable';
COMMENT ON COLUMN ledger.daily_fees.symbol IS 'Coin symbol code of the transactions; null when the service gave none';
COMMENT ON COLUMN ledger.daily_fees.stream IS 'The list that counts the transactions: deposit or withdraw';
COMMENT ON COLUMN ledger.daily_fees.state IS 'State as the service says';
COMMENT ON COLUMN ledger.daily_fees.is_success IS 'As transactions.is_success: the fees were charged';
COMMENT ON COLUMN ledger.daily_fees.fee_symbol IS 'Coin of the fee (feeSymbol); null where the fee names none';
COMMENT ON COLUMN ledger.daily_fees.fee IS 'Sum of the known fees in units of fee_symbol; transactions without a known fee make no row';
--> statement-breakpoint
COMMENT ON COLUMN ledger.total_drift.day IS 'UTC day of the group (occurred_at); null for rows without a time';
COMMENT ON COLUMN ledger.total_drift.stream IS 'deposit or withdraw';
COMMENT ON COLUMN ledger.total_drift.symbol IS 'Coin symbol code';
COMMENT ON COLUMN ledger.total_drift.state IS 'State as the service says';
COMMENT ON COLUMN ledger.total_drift.is_success IS 'True if WALLET_SUCCESS_STATES names the state';
COMMENT ON COLUMN ledger.total_drift.fee_symbol IS 'Coin of the fee';
COMMENT ON COLUMN ledger.total_drift.transactions IS 'Transactions that the sums lack; negative: that they have too many';
COMMENT ON COLUMN ledger.total_drift.amounts IS 'Known amounts that the sums lack';
COMMENT ON COLUMN ledger.total_drift.amount IS 'Amount that the sums lack';
COMMENT ON COLUMN ledger.total_drift.fees IS 'Known fees that the sums lack';
COMMENT ON COLUMN ledger.total_drift.fee IS 'Fees that the sums lack';
COMMENT ON COLUMN ledger.assets.slip44 IS 'slip44 code of the chain';
COMMENT ON COLUMN ledger.assets.symbol IS 'Coin symbol code';
COMMENT ON COLUMN ledger.assets.contract_address IS 'Contract address of a token; empty for a main-chain coin';
COMMENT ON COLUMN ledger.known_chains.symbol IS 'Coin symbol code of the transaction';
COMMENT ON COLUMN ledger.known_chains.fee_symbol IS 'Coin of the fee that tells the chain; null: the symbol alone tells it';
COMMENT ON COLUMN ledger.known_chains.slip44 IS 'slip44 code of the chain';
