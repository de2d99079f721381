-- The sums over all days have the chain of their transactions, as those of each day have it: the sums of a coin's chains
-- need not be added up from its days, which become more every day.
SELECT pg_advisory_xact_lock(7246007);
--> statement-breakpoint
ALTER TABLE "engine"."all_sums" ADD COLUMN "slip44" integer;
--> statement-breakpoint
COMMENT ON COLUMN engine.all_sums.slip44 IS 'Chain of the transactions, as in transactions; null where it is not known';
TRUNCATE engine.all_sums;
INSERT INTO engine.all_sums (key, wallet, stream, symbol, state, is_success, fee_symbol, lacks_detail, slip44,
                             transactions, amounts, amount, fees, fee, largest_fee)
SELECT engine.sum_key(d.wallet, d.stream, d.symbol, d.state, d.is_success::text, d.fee_symbol, d.lacks_detail::text,
                      d.slip44::text),
       d.wallet, d.stream, d.symbol, d.state, d.is_success, d.fee_symbol, d.lacks_detail, d.slip44,
       sum(d.transactions), sum(d.amounts), sum(d.amount), sum(d.fees), sum(d.fee), max(d.largest_fee)
  FROM engine.daily_sums d
 GROUP BY d.wallet, d.stream, d.symbol, d.state, d.is_success, d.fee_symbol, d.lacks_detail, d.slip44;
--> statement-breakpoint
CREATE VIEW ledger.chain_totals AS
SELECT x.stream, x.symbol, x.state, x.slip44, sum(x.transactions)::bigint AS transactions,
       CASE WHEN sum(x.amounts) > 0 THEN sum(x.amount) END AS amount, x.wallet
  FROM (SELECT s.wallet, s.stream, s.symbol, s.state, s.slip44, s.transactions, s.amounts, s.amount FROM engine.all_sums s
        UNION ALL
        SELECT c.wallet, c.stream, c.symbol, c.state, c.slip44, c.transactions, c.amounts, c.amount FROM engine.total_changes c
       ) AS x
 WHERE (SELECT engine.seen_wallets(current_user)) IS NULL OR x.wallet = ANY ((SELECT engine.seen_wallets(current_user))::text[])
 GROUP BY x.wallet, x.stream, x.symbol, x.state, x.slip44
HAVING sum(x.transactions) <> 0;
--> statement-breakpoint
COMMENT ON VIEW ledger.chain_totals IS 'Sums of the listed transactions over all days, per coin, state and chain; daily_totals has them per day';
COMMENT ON COLUMN ledger.chain_totals.stream IS 'List the transactions belong to: deposit or withdraw';
COMMENT ON COLUMN ledger.chain_totals.symbol IS 'Coin of the amounts';
COMMENT ON COLUMN ledger.chain_totals.state IS 'State of the transactions';
COMMENT ON COLUMN ledger.chain_totals.slip44 IS 'Chain of the transactions, as in transactions; null where it is not known';
COMMENT ON COLUMN ledger.chain_totals.transactions IS 'Number of transactions';
COMMENT ON COLUMN ledger.chain_totals.amount IS 'Sum of their amounts; null when none is known';
COMMENT ON COLUMN ledger.chain_totals.wallet IS 'Wallet that the row belongs to, one of WALLETS; main where only one is set';
--> statement-breakpoint
CREATE OR REPLACE VIEW ledger.deposit_chains AS
SELECT t.symbol, t.state, t.slip44, t.transactions, t.amount, t.wallet
  FROM ledger.chain_totals t
 WHERE t.stream = 'deposit'
   AND (t.wallet, t.symbol) IN (SELECT a.wallet, a.symbol FROM ledger.assets a GROUP BY a.wallet, a.symbol HAVING count(*) > 1);
COMMENT ON VIEW ledger.deposit_chains IS 'Internal: sums of the listed deposits of coins that exist on several chains, per state and chain; chain_totals has the same for all coins';
--> statement-breakpoint
SELECT engine.make_own_views();
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
    ON CONFLICT (key) DO UPDATE SET transactions = s.transactions + excluded.transactions, amounts = s.amounts + excluded.amounts,
          amount = s.amount + excluded.amount, fees = s.fees + excluded.fees, fee = s.fee + excluded.fee,
          largest_fee = greatest(s.largest_fee, excluded.largest_fee)
    RETURNING s.key, s.transactions, s.largest_fee
  ),
  grouped_overall AS MATERIALIZED (
    SELECT engine.sum_key(g.wallet, g.stream, g.symbol, g.state, g.is_success::text, g.fee_symbol, g.lacks_detail::text,
                          g.slip44::text) AS key,
           g.wallet, g.stream, g.symbol, g.state, g.is_success, g.fee_symbol, g.lacks_detail, g.slip44,
           sum(g.transactions) AS transactions, sum(g.amounts) AS amounts, sum(g.amount) AS amount, sum(g.fees) AS fees,
           sum(g.fee) AS fee, max(g.largest_fee) AS largest_fee, max(g.lost_fee) AS lost_fee
      FROM grouped g GROUP BY g.wallet, g.stream, g.symbol, g.state, g.is_success, g.fee_symbol, g.lacks_detail, g.slip44
  ),
  overall AS (
    INSERT INTO engine.all_sums AS s (key, wallet, stream, symbol, state, is_success, fee_symbol, lacks_detail, slip44,
                                      transactions, amounts, amount, fees, fee, largest_fee)
    SELECT g.key, g.wallet, g.stream, g.symbol, g.state, g.is_success, g.fee_symbol, g.lacks_detail, g.slip44,
           g.transactions, g.amounts, g.amount, g.fees, g.fee, g.largest_fee FROM grouped_overall g
    ON CONFLICT (key) DO UPDATE SET transactions = s.transactions + excluded.transactions, amounts = s.amounts + excluded.amounts,
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
                           AND ((t.occurred_at AT TIME ZONE 'UTC')::date = s.day OR s.day IS NULL AND t.occurred_at IS NULL))
 WHERE s.key = ANY (keys);
UPDATE engine.all_sums a
   SET largest_fee = (SELECT max(s.largest_fee) FROM engine.daily_sums s
                       WHERE (s.wallet, s.stream, s.is_success, s.lacks_detail) = (a.wallet, a.stream, a.is_success, a.lacks_detail)
                         AND (s.symbol, s.state, s.fee_symbol, s.slip44)
                             IS NOT DISTINCT FROM (a.symbol, a.state, a.fee_symbol, a.slip44))
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
    FROM (SELECT engine.sum_key(d.wallet, d.stream, d.symbol, d.state, d.is_success::text, d.fee_symbol, d.lacks_detail::text,
                                d.slip44::text) AS key,
                 max(d.largest_fee) AS largest_fee
            FROM engine.daily_sums d GROUP BY 1) AS c
   WHERE s.key = c.key AND s.largest_fee IS DISTINCT FROM c.largest_fee;
  RETURN mended;
END $function$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION ledger.reconcile_assets(balances_read_at timestamp with time zone)
 RETURNS TABLE(slip44 integer, symbol text, contract_address text, deposits numeric, withdrawals numeric, fees numeric, expected numeric, reported numeric, difference numeric, is_explained boolean, explanation text, open_amount numeric, unassigned numeric)
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$
WITH coin AS MATERIALIZED (SELECT * FROM ledger.reconcile(balances_read_at)),
asset AS MATERIALIZED (
  SELECT a.*, count(*) OVER (PARTITION BY a.symbol) > 1 AS is_shared,
         count(*) OVER (PARTITION BY a.symbol, a.slip44) = 1 AS is_alone
    FROM (SELECT b.slip44, b.symbol, b.contract_address FROM own.balances b
          UNION SELECT c.slip44, c.symbol, c.contract_address FROM own.coins c) AS a
),
main AS (
  SELECT a.symbol, min(a.slip44) AS slip44 FROM asset a WHERE a.contract_address = '' GROUP BY a.symbol HAVING count(*) = 1
),
part AS MATERIALIZED (
  SELECT t.symbol, a.slip44, sum(t.amount) FILTER (WHERE t.stream = 'deposit') AS deposits,
         sum(t.amount) FILTER (WHERE t.stream = 'withdraw') AS withdrawals
    FROM own.chain_totals t
    LEFT JOIN asset a ON a.symbol = t.symbol AND a.slip44 = t.slip44 AND a.is_alone
   WHERE t.symbol IN (SELECT x.symbol FROM asset x WHERE x.is_shared)
     AND lower(btrim(t.state)) IN (SELECT f.state FROM own.final_states f WHERE f.is_success)
   GROUP BY t.symbol, a.slip44
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
    LEFT JOIN own.balances b ON b.is_listed AND b.slip44 = a.slip44 AND b.symbol = a.symbol
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
                    (SELECT r.started_at FROM own.sync_runs r
                      WHERE r.job = 'transactions' AND r.outcome IN ('done', 'incomplete')
                      ORDER BY r.id DESC LIMIT 1)) END) AS s (standing)
$function$;
