-- A total has the chain of its transactions, as each transaction has it (0061). The views told it from coin and fee alone,
-- and so differed from the transactions wherever a deposit's address tells the chain.
-- Writers wait from here on, so that no sum is added between the emptying and the counting.
TRUNCATE engine.total_changes, engine.daily_sums, engine.all_sums;
--> statement-breakpoint
ALTER TABLE "engine"."daily_sums" ADD COLUMN "slip44" integer;
--> statement-breakpoint
ALTER TABLE "engine"."total_changes" ADD COLUMN "slip44" integer;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION engine.fold_totals() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
  emptied uuid[];
  lost uuid[];
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' OR NOT pg_try_advisory_xact_lock(7246007) THEN
    RETURN;
  END IF;
  WITH taken AS (DELETE FROM engine.total_changes RETURNING *),
  grouped AS MATERIALIZED (
    SELECT engine.sum_key(t.wallet, extract(epoch FROM t.day)::text, t.stream, t.symbol, t.state, t.is_success::text,
                          t.fee_symbol, t.lacks_detail::text, t.slip44::text) AS key, t.wallet, t.day, t.stream, t.symbol,
           t.state, t.is_success, t.fee_symbol, t.lacks_detail, t.slip44, sum(t.transactions) AS transactions,
           sum(t.amounts) AS amounts, sum(t.amount) AS amount, sum(t.fees) AS fees, sum(t.fee) AS fee,
           max(t.largest_fee) AS largest_fee, max(t.lost_fee) AS lost_fee
      FROM taken t GROUP BY t.wallet, t.day, t.stream, t.symbol, t.state, t.is_success, t.fee_symbol, t.lacks_detail, t.slip44
  ),
  daily AS (
    INSERT INTO engine.daily_sums AS s (wallet, key, day, stream, symbol, state, is_success, fee_symbol, lacks_detail,
                                        slip44, transactions, amounts, amount, fees, fee, largest_fee)
    SELECT g.wallet, g.key, g.day, g.stream, g.symbol, g.state, g.is_success, g.fee_symbol, g.lacks_detail, g.slip44,
           g.transactions, g.amounts, g.amount, g.fees, g.fee, g.largest_fee FROM grouped g
    ON CONFLICT (key) DO UPDATE
      SET transactions = s.transactions + excluded.transactions, amounts = s.amounts + excluded.amounts,
          amount = s.amount + excluded.amount, fees = s.fees + excluded.fees, fee = s.fee + excluded.fee,
          largest_fee = greatest(s.largest_fee, excluded.largest_fee)
    RETURNING s.key, s.transactions, s.largest_fee
  ),
  grouped_overall AS MATERIALIZED (
    SELECT engine.sum_key(g.wallet, g.stream, g.symbol, g.state, g.is_success::text, g.fee_symbol, g.lacks_detail::text) AS key,
           g.wallet, g.stream, g.symbol, g.state, g.is_success, g.fee_symbol, g.lacks_detail,
           sum(g.transactions) AS transactions, sum(g.amounts) AS amounts, sum(g.amount) AS amount, sum(g.fees) AS fees,
           sum(g.fee) AS fee, max(g.largest_fee) AS largest_fee, max(g.lost_fee) AS lost_fee
      FROM grouped g GROUP BY g.wallet, g.stream, g.symbol, g.state, g.is_success, g.fee_symbol, g.lacks_detail
  ),
  overall AS (
    INSERT INTO engine.all_sums AS s (key, wallet, stream, symbol, state, is_success, fee_symbol, lacks_detail, transactions,
                                      amounts, amount, fees, fee, largest_fee)
    SELECT g.key, g.wallet, g.stream, g.symbol, g.state, g.is_success, g.fee_symbol, g.lacks_detail, g.transactions,
           g.amounts, g.amount, g.fees, g.fee, g.largest_fee FROM grouped_overall g
    ON CONFLICT (key) DO UPDATE
      SET transactions = s.transactions + excluded.transactions, amounts = s.amounts + excluded.amounts,
          amount = s.amount + excluded.amount, fees = s.fees + excluded.fees, fee = s.fee + excluded.fee,
          largest_fee = greatest(s.largest_fee, excluded.largest_fee)
    RETURNING s.key, s.transactions, s.largest_fee
  ),
  folded AS (
    SELECT d.key, d.transactions, g.lost_fee >= d.largest_fee AS is_lost FROM daily d JOIN grouped g ON g.key = d.key
    UNION ALL
    SELECT o.key, o.transactions, g.lost_fee >= o.largest_fee FROM overall o JOIN grouped_overall g ON g.key = o.key
  )
  SELECT array_agg(f.key) FILTER (WHERE f.transactions = 0), array_agg(f.key) FILTER (WHERE f.transactions <> 0 AND f.is_lost)
    INTO emptied, lost FROM folded f;
  DELETE FROM engine.daily_sums s WHERE s.key = ANY (emptied);
  DELETE FROM engine.all_sums s WHERE s.key = ANY (emptied);
  PERFORM engine.find_largest_fees(lost);
END $function$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION engine.note_inserted_totals()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
DECLARE
  first_id bigint;
  last_id bigint;
BEGIN
  WITH added AS (
    INSERT INTO engine.total_changes
      (wallet, day, stream, symbol, state, is_success, fee_symbol, lacks_detail, slip44, transactions, amounts, amount, fees,
       fee, largest_fee)
    SELECT n.wallet, (n.occurred_at AT TIME ZONE 'UTC')::date, n.stream, n.symbol, n.state, n.is_success, n.fee_symbol,
           n.detail_synced_at IS NULL, n.slip44, count(*), count(n.amount), coalesce(sum(n.amount), 0), count(n.fee),
           coalesce(sum(n.fee), 0), max(n.fee)
      FROM new_rows n WHERE n.is_listed GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9
    RETURNING id)
  SELECT min(a.id), max(a.id) INTO first_id, last_id FROM added a;
  IF last_id / 1000 > (first_id - 1) / 1000 THEN PERFORM engine.fold_totals(); END IF;
  RETURN NULL;
END $function$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION engine.note_updated_totals()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
DECLARE
  first_id bigint;
  last_id bigint;
BEGIN
  WITH added AS (
    INSERT INTO engine.total_changes
      (wallet, day, stream, symbol, state, is_success, fee_symbol, lacks_detail, slip44, transactions, amounts, amount, fees,
       fee, largest_fee, lost_fee)
    SELECT g.wallet, g.day, g.stream, g.symbol, g.state, g.is_success, g.fee_symbol, g.lacks_detail, g.slip44, g.transactions,
           g.amounts, g.amount, g.fees, g.fee, g.largest_fee, CASE WHEN g.former_fee > coalesce(g.largest_fee, '-Infinity') THEN g.former_fee END
      FROM (SELECT x.wallet, (x.occurred_at AT TIME ZONE 'UTC')::date AS day, x.stream, x.symbol, x.state, x.is_success,
                   x.fee_symbol, x.lacks_detail, x.slip44, sum(x.sign) AS transactions,
                   coalesce(sum(x.sign) FILTER (WHERE x.amount IS NOT NULL), 0) AS amounts,
                   coalesce(sum(x.sign * x.amount), 0) AS amount,
                   coalesce(sum(x.sign) FILTER (WHERE x.fee IS NOT NULL), 0) AS fees,
                   coalesce(sum(x.sign * x.fee), 0) AS fee,
                   max(x.fee) FILTER (WHERE x.sign = 1) AS largest_fee,
                   max(x.fee) FILTER (WHERE x.sign = -1) AS former_fee
              FROM (SELECT 1 AS sign, n.wallet, n.stream, n.occurred_at, n.symbol, n.state, n.is_success, n.fee_symbol, n.amount,
                           n.fee, n.detail_synced_at IS NULL AS lacks_detail, n.slip44
                      FROM new_rows n WHERE n.is_listed
                    UNION ALL
                    SELECT -1, o.wallet, o.stream, o.occurred_at, o.symbol, o.state, o.is_success, o.fee_symbol, o.amount, o.fee,
                           o.detail_synced_at IS NULL, o.slip44
                      FROM old_rows o WHERE o.is_listed) AS x
             GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9) AS g
     WHERE (g.transactions, g.amounts, g.amount, g.fees, g.fee) <> (0, 0, 0, 0, 0)
        OR g.former_fee IS DISTINCT FROM g.largest_fee
    RETURNING id)
  SELECT min(a.id), max(a.id) INTO first_id, last_id FROM added a;
  IF last_id / 1000 > (first_id - 1) / 1000 THEN PERFORM engine.fold_totals(); END IF;
  RETURN NULL;
END $function$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION engine.note_deleted_totals()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
BEGIN
  INSERT INTO engine.total_changes
    (wallet, day, stream, symbol, state, is_success, fee_symbol, lacks_detail, slip44, transactions, amounts, amount, fees, fee,
     lost_fee)
  SELECT o.wallet, (o.occurred_at AT TIME ZONE 'UTC')::date, o.stream, o.symbol, o.state, o.is_success, o.fee_symbol,
         o.detail_synced_at IS NULL, o.slip44, - count(*), - count(o.amount), - coalesce(sum(o.amount), 0), - count(o.fee),
         - coalesce(sum(o.fee), 0), max(o.fee)
    FROM old_rows o WHERE o.is_listed GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9;
  PERFORM engine.fold_totals();
  RETURN NULL;
END $function$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION engine.find_largest_fees(keys uuid[])
 RETURNS void
 LANGUAGE sql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
UPDATE engine.daily_sums s
   SET largest_fee = (SELECT max(t.fee) FROM ledger.transactions t
                         WHERE t.wallet = s.wallet AND t.stream = s.stream AND t.is_listed AND t.is_success = s.is_success
                           AND (t.detail_synced_at IS NULL) = s.lacks_detail
                           AND (t.symbol, t.state, t.fee_symbol, t.slip44)
                               IS NOT DISTINCT FROM (s.symbol, s.state, s.fee_symbol, s.slip44)
                           AND CASE WHEN s.day IS NULL THEN t.occurred_at IS NULL
                                    ELSE (t.occurred_at AT TIME ZONE 'UTC')::date = s.day END)
 WHERE s.key = ANY (keys);
UPDATE engine.all_sums a
   SET largest_fee = (SELECT max(s.largest_fee) FROM engine.daily_sums s
                       WHERE (s.wallet, s.stream, s.is_success, s.lacks_detail) = (a.wallet, a.stream, a.is_success, a.lacks_detail)
                         AND (s.symbol, s.state, s.fee_symbol) IS NOT DISTINCT FROM (a.symbol, a.state, a.fee_symbol))
 WHERE a.key = ANY (keys);
$function$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION engine.mend_totals()
 RETURNS bigint
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
DECLARE
  mended bigint;
BEGIN
  PERFORM pg_advisory_xact_lock(7246007);
  INSERT INTO engine.total_changes (wallet, day, stream, symbol, state, is_success, fee_symbol, lacks_detail, slip44,
                                    transactions, amounts, amount, fees, fee)
  SELECT d.wallet, d.day, d.stream, d.symbol, d.state, d.is_success, d.fee_symbol, d.lacks_detail, d.slip44,
         d.transactions, d.amounts, d.amount, d.fees, d.fee
    FROM ledger.total_drift d;
  GET DIAGNOSTICS mended = ROW_COUNT;
  PERFORM engine.fold_totals();
  UPDATE engine.daily_sums s SET largest_fee = c.largest_fee
    FROM (SELECT engine.sum_key(g.wallet, extract(epoch FROM g.day)::text, g.stream, g.symbol, g.state, g.is_success::text, g.fee_symbol,
                                g.lacks_detail::text, g.slip44::text) AS key,
                 g.largest_fee
            FROM (SELECT t.wallet, (t.occurred_at AT TIME ZONE 'UTC')::date AS day, t.stream, t.symbol, t.state, t.is_success,
                         t.fee_symbol, t.detail_synced_at IS NULL AS lacks_detail, t.slip44,
                         max(t.fee) AS largest_fee
                    FROM ledger.transactions t WHERE t.is_listed GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9) AS g) AS c
   WHERE s.key = c.key AND s.largest_fee IS DISTINCT FROM c.largest_fee;
  UPDATE engine.all_sums s SET largest_fee = c.largest_fee
    FROM (SELECT engine.sum_key(d.wallet, d.stream, d.symbol, d.state, d.is_success::text, d.fee_symbol, d.lacks_detail::text) AS key,
                 max(d.largest_fee) AS largest_fee
            FROM engine.daily_sums d GROUP BY 1) AS c
   WHERE s.key = c.key AND s.largest_fee IS DISTINCT FROM c.largest_fee;
  RETURN mended;
END $function$;
--> statement-breakpoint
CREATE OR REPLACE VIEW engine.daily_sums_now AS
SELECT s.day, s.stream, s.symbol, s.state, s.is_success, s.fee_symbol, s.transactions, s.amounts, s.amount, s.fees, s.fee,
       s.largest_fee, s.lacks_detail, s.wallet, s.slip44
  FROM engine.daily_sums s
UNION ALL
SELECT c.day, c.stream, c.symbol, c.state, c.is_success, c.fee_symbol, c.transactions, c.amounts, c.amount, c.fees, c.fee,
       c.largest_fee, c.lacks_detail, c.wallet, c.slip44
  FROM engine.total_changes c;
--> statement-breakpoint
CREATE OR REPLACE VIEW ledger.total_drift AS
SELECT seen.*
  FROM (SELECT x.day, x.stream, x.symbol, x.state, x.is_success, x.fee_symbol, sum(x.transactions)::bigint AS transactions,
               sum(x.amounts)::bigint AS amounts, sum(x.amount) AS amount, sum(x.fees)::bigint AS fees, sum(x.fee) AS fee,
               x.lacks_detail, x.wallet, x.slip44
          FROM (SELECT (t.occurred_at AT TIME ZONE 'UTC')::date AS day, t.stream, t.symbol, t.state, t.is_success, t.fee_symbol,
                       count(*) AS transactions, count(t.amount) AS amounts, coalesce(sum(t.amount), 0) AS amount,
                       count(t.fee) AS fees, coalesce(sum(t.fee), 0) AS fee, t.detail_synced_at IS NULL AS lacks_detail,
                       t.wallet, t.slip44
                  FROM ledger.transactions t WHERE t.is_listed
                 GROUP BY 1, 2, 3, 4, 5, 6, 12, 13, 14
                UNION ALL
                SELECT s.day, s.stream, s.symbol, s.state, s.is_success, s.fee_symbol, - s.transactions, - s.amounts,
                       - s.amount, - s.fees, - s.fee, s.lacks_detail, s.wallet, s.slip44
                  FROM engine.daily_sums_now s) AS x
         GROUP BY x.day, x.stream, x.symbol, x.state, x.is_success, x.fee_symbol, x.lacks_detail, x.wallet, x.slip44
        HAVING sum(x.transactions) <> 0 OR sum(x.amounts) <> 0 OR sum(x.amount) <> 0 OR sum(x.fees) <> 0 OR sum(x.fee) <> 0)
       AS seen
 WHERE (SELECT engine.seen_wallets(current_user)) IS NULL
    OR seen.wallet = ANY ((SELECT engine.seen_wallets(current_user))::text[]);
--> statement-breakpoint
CREATE OR REPLACE VIEW ledger.daily_totals AS
SELECT seen.*
  FROM (SELECT s.day, s.stream, s.symbol, s.slip44, s.state, s.is_success, sum(s.transactions)::bigint AS transactions,
               CASE WHEN sum(s.amounts) > 0 THEN sum(s.amount) END AS amount,
               (sum(s.transactions) - sum(s.amounts))::bigint AS unknown_amounts, s.wallet
          FROM engine.daily_sums_now s
         GROUP BY s.wallet, s.day, s.stream, s.symbol, s.slip44, s.state, s.is_success
        HAVING sum(s.transactions) <> 0) AS seen
 WHERE (SELECT engine.seen_wallets(current_user)) IS NULL
    OR seen.wallet = ANY ((SELECT engine.seen_wallets(current_user))::text[]);
--> statement-breakpoint
CREATE OR REPLACE VIEW ledger.daily_flows AS
SELECT seen.*
  FROM (SELECT g.day, g.symbol, g.stream AS type, g.state, sum(g.transactions)::bigint AS transactions,
               CASE WHEN sum(g.amounts) > 0 THEN sum(g.amount) END AS amount,
               coalesce(jsonb_object_agg(coalesce(g.fee_symbol, ''), g.fee) FILTER (WHERE g.fees > 0), '{}') AS fees,
               g.slip44, g.stream, g.is_success, g.wallet
          FROM (SELECT s.wallet, s.day, s.symbol, s.stream, s.state, s.is_success, s.fee_symbol, s.slip44,
                       sum(s.transactions) AS transactions, sum(s.amounts) AS amounts, sum(s.amount) AS amount,
                       sum(s.fees) AS fees, sum(s.fee) AS fee
                  FROM engine.daily_sums_now s
                 GROUP BY s.wallet, s.day, s.symbol, s.stream, s.state, s.is_success, s.fee_symbol, s.slip44
                HAVING sum(s.transactions) <> 0) AS g
         GROUP BY g.wallet, g.day, g.symbol, g.stream, g.state, g.slip44, g.is_success) AS seen
 WHERE (SELECT engine.seen_wallets(current_user)) IS NULL
    OR seen.wallet = ANY ((SELECT engine.seen_wallets(current_user))::text[]);
--> statement-breakpoint
INSERT INTO engine.total_changes
  (wallet, day, stream, symbol, state, is_success, fee_symbol, lacks_detail, slip44, transactions, amounts, amount, fees, fee,
   largest_fee)
SELECT t.wallet, (t.occurred_at AT TIME ZONE 'UTC')::date, t.stream, t.symbol, t.state, t.is_success, t.fee_symbol,
       t.detail_synced_at IS NULL, t.slip44, count(*), count(t.amount), coalesce(sum(t.amount), 0), count(t.fee),
       coalesce(sum(t.fee), 0), max(t.fee)
  FROM ledger.transactions t WHERE t.is_listed GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9;
--> statement-breakpoint
SELECT engine.fold_totals();
--> statement-breakpoint
-- A fee that changes is added to the sums without a transaction, and counts before the sums are added up, too.
DO $migration$
DECLARE
  former text := pg_get_functiondef('ledger.booked_sums(text, timestamptz, timestamptz, text)'::regprocedure);
  present text := replace(former, 'FROM parts p WHERE p.fees <> 0)', 'FROM parts p WHERE (p.fees, p.fee) <> (0, 0))');
BEGIN
  ASSERT present <> former;
  EXECUTE present;
END $migration$;
--> statement-breakpoint
-- Rows of a coin that several chains have are on the chain that each row has.
DO $migration$
DECLARE
  former text := pg_get_functiondef('ledger.reconcile_assets(timestamptz)'::regprocedure);
  starts integer := strpos(former, 'sent AS (');
  ends integer := strpos(former, 'unknown AS (');
BEGIN
  ASSERT starts > 0 AND ends > starts;
  EXECUTE substr(former, 1, starts - 1) || $body$part AS MATERIALIZED (
  SELECT t.symbol, a.slip44, sum(t.amount) FILTER (WHERE t.stream = 'deposit') AS deposits,
         sum(t.amount) FILTER (WHERE t.stream = 'withdraw') AS withdrawals
    FROM own.daily_totals t
    LEFT JOIN asset a ON a.symbol = t.symbol AND a.slip44 = t.slip44 AND a.is_alone
   WHERE t.symbol IN (SELECT x.symbol FROM asset x WHERE x.is_shared)
     AND lower(btrim(t.state)) IN (SELECT f.state FROM own.final_states f WHERE f.is_success)
   GROUP BY t.symbol, a.slip44
),
$body$ || substr(former, ends);
END $migration$;
--> statement-breakpoint
COMMENT ON COLUMN engine.daily_sums.slip44 IS 'Chain of the transactions as its slip44 code; null where it is not known';
COMMENT ON COLUMN engine.total_changes.slip44 IS 'Chain of the transactions as its slip44 code; null where it is not known';
COMMENT ON COLUMN ledger.total_drift.slip44 IS 'slip44 code of the chain, as in transactions; null when it is not known';
COMMENT ON COLUMN ledger.daily_totals.slip44 IS 'slip44 code of the chain, as in transactions; null when it is not known';
COMMENT ON COLUMN ledger.daily_flows.slip44 IS 'slip44 code of the chain, as in transactions; null when it is not known';
COMMENT ON COLUMN ledger.asset_reconciliation.deposits IS 'Sum of listed deposits in a success state on this chain (transactions.slip44); all of the coin where its symbol names one asset';
COMMENT ON COLUMN ledger.asset_reconciliation.withdrawals IS 'Sum of listed withdrawals in a success state on this chain (transactions.slip44); all of the coin where its symbol names one asset';
--> statement-breakpoint
CREATE OR REPLACE FUNCTION ledger.contract_version() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT '1.4' $$;
--> statement-breakpoint
DO $migration$
DECLARE
  former text := pg_get_viewdef('ledger.contract'::regclass);
  present text := regexp_replace(former, 'CASE[[:space:]]+WHEN(?=[^;]{0,255}pending_transactions)',
    'CASE WHEN c.relname = ''total_drift'' AND a.attname = ''slip44'' THEN ''1.4'' WHEN');
BEGIN
  ASSERT present <> former;
  EXECUTE 'CREATE OR REPLACE VIEW ledger.contract AS ' || present;
END $migration$;
--> statement-breakpoint
SELECT engine.make_own_views();
--> statement-breakpoint
SELECT engine.settle_rights();
