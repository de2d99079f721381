CREATE VIEW ledger.totals AS
SELECT s.stream, s.symbol, s.state, s.is_success, s.fee_symbol, s.transactions,
       CASE WHEN s.amounts > 0 THEN s.amount END AS amount, CASE WHEN s.fees > 0 THEN s.fee END AS fee, s.largest_fee
  FROM engine.all_sums_now s;
--> statement-breakpoint
COMMENT ON VIEW ledger.totals IS 'Number and sums of the listed transactions over all days, per list, coin, state and coin of the fee; right at every commit, and read without reading the transactions';
COMMENT ON COLUMN ledger.totals.stream IS 'The list that counts the transactions: deposit or withdraw';
COMMENT ON COLUMN ledger.totals.symbol IS 'Coin symbol code; null when the service gave none';
COMMENT ON COLUMN ledger.totals.state IS 'State as the service says';
COMMENT ON COLUMN ledger.totals.is_success IS 'As transactions.is_success: the transactions moved money';
COMMENT ON COLUMN ledger.totals.fee_symbol IS 'Coin of the fee (feeSymbol); null when it is not known';
COMMENT ON COLUMN ledger.totals.transactions IS 'Number of transactions';
COMMENT ON COLUMN ledger.totals.amount IS 'Sum of the known amounts in units of the coin; null when none is known';
COMMENT ON COLUMN ledger.totals.fee IS 'Sum of the known fees in units of fee_symbol; null when none is known';
COMMENT ON COLUMN ledger.totals.largest_fee IS 'Largest fee in units of fee_symbol; null when none is known';
--> statement-breakpoint
-- Of the transactions only those are read that are open, wait for their detail or moved around the reading of the
-- balances, each found by an index. All others are what the totals count beyond them.
DO $migration$
DECLARE
  former text := pg_get_functiondef('ledger.reconcile(timestamptz)'::regprocedure);
  begins integer := position('groups AS MATERIALIZED (' IN former);
  ends integer := position(E'),\njudged AS (' IN former);
  present text;
BEGIN
  ASSERT begins > 0 AND ends > begins AND position('ledger.waiting_details' IN former) = 0;
  present := left(former, begins - 1) || $body$moving AS MATERIALIZED (
  SELECT t.stream, t.symbol, t.fee_symbol, t.state, t.is_final, t.detail_synced_at, t.changed_at, t.first_seen_at,
         t.occurred_at, t.amount, t.fee
    FROM ledger.transactions t
   WHERE NOT t.is_final AND t.is_listed
  UNION ALL
  SELECT t.stream, t.symbol, t.fee_symbol, t.state, t.is_final, t.detail_synced_at, t.changed_at, t.first_seen_at,
         t.occurred_at, t.amount, t.fee
    FROM ledger.transactions t
   WHERE t.is_final AND t.is_listed AND t.changed_at >= (SELECT m.moved_since FROM moments m)
  UNION ALL
  SELECT t.stream, t.symbol, t.fee_symbol, t.state, t.is_final, t.detail_synced_at, t.changed_at, t.first_seen_at,
         t.occurred_at, t.amount, t.fee
    FROM (SELECT DISTINCT w.order_no FROM ledger.waiting_details w WHERE w.is_final) AS w
    JOIN ledger.transactions t ON t.order_no = w.order_no
   WHERE t.is_final AND t.is_listed AND (t.changed_at >= (SELECT m.moved_since FROM moments m)) IS NOT TRUE
),
moving_groups AS MATERIALIZED (
  SELECT t.stream, t.symbol, t.fee_symbol, t.state, t.is_final,
         NOT t.is_final OR t.detail_synced_at IS NULL OR t.detail_synced_at < t.changed_at AS is_due,
         t.changed_at >= (SELECT m.moved_since FROM moments m)
           AND (t.first_seen_at < (SELECT m.moved_since FROM moments m)
             OR coalesce(t.occurred_at, t.changed_at) >= (SELECT m.moved_since - interval '1 day' FROM moments m))
           AS has_moved,
         count(*) AS transactions, sum(t.amount) AS amount, sum(t.fee) AS fee, max(t.fee) AS largest_fee
    FROM moving t
   GROUP BY 1, 2, 3, 4, 5, 6, 7
),
others AS (
  SELECT x.stream, x.symbol, x.fee_symbol, x.state, sum(x.transactions) AS transactions, sum(x.amount) AS amount,
         sum(x.fee) AS fee, max(x.largest_fee) AS largest_fee
    FROM (SELECT t.stream, t.symbol, t.fee_symbol, t.state, t.transactions, t.amount, t.fee, t.largest_fee
            FROM ledger.totals t
          UNION ALL
          SELECT g.stream, g.symbol, g.fee_symbol, g.state, - g.transactions, - g.amount, - g.fee, NULL
            FROM moving_groups g) AS x
   GROUP BY x.stream, x.symbol, x.fee_symbol, x.state
),
groups AS MATERIALIZED (
  SELECT g.stream, g.symbol, g.fee_symbol, g.state, g.is_final, g.is_due, g.has_moved, g.transactions, g.amount, g.fee,
         g.largest_fee
    FROM moving_groups g
  UNION ALL
  SELECT o.stream, o.symbol, o.fee_symbol, o.state, true, false, false, o.transactions, o.amount, o.fee, o.largest_fee
    FROM others o WHERE o.transactions > 0
$body$ || substr(former, ends);
  EXECUTE present;
  former := pg_get_functiondef('ledger.reconcile_assets(timestamptz)'::regprocedure);
  begins := position('sent AS (' IN former);
  ends := position(E'),\npart AS MATERIALIZED (' IN former);
  ASSERT begins > 0 AND ends > begins;
  present := left(former, begins - 1) || $body$sent AS (
  SELECT t.fee_symbol, t.symbol, t.state, sum(t.amount) AS amount
    FROM ledger.totals t
   WHERE t.stream = 'withdraw' AND t.symbol IN (SELECT a.symbol FROM asset a WHERE a.is_shared)
   GROUP BY t.fee_symbol, t.symbol, t.state
$body$ || substr(former, ends);
  EXECUTE present;
END $migration$;
