DROP INDEX "ledger"."transactions_stream_occurred_at";
--> statement-breakpoint
CREATE INDEX "transactions_stream_occurred_at" ON "ledger"."transactions" USING btree ("stream","wallet","occurred_at");
--> statement-breakpoint
CREATE INDEX "daily_sums_group" ON "engine"."daily_sums" USING btree (engine.sum_key("wallet", "stream", "symbol", "state", "is_success"::text, "fee_symbol", "lacks_detail"::text));
--> statement-breakpoint
ALTER INDEX ledger.transactions_day SET (autosummarize = true);
--> statement-breakpoint
SELECT pg_catalog.brin_summarize_new_values('ledger.transactions_day');
--> statement-breakpoint
CREATE OR REPLACE FUNCTION engine.find_largest_fees(keys uuid[]) RETURNS void
LANGUAGE sql
SET search_path = pg_catalog, pg_temp
AS $$
-- Each list's day is read once, by time, however many of its sums have lost their largest fee.
WITH days AS (
  SELECT DISTINCT s.wallet, s.stream, s.day FROM engine.daily_sums s WHERE s.key = ANY (keys)
),
read AS (
  SELECT d.day, t.*
    FROM days d
   CROSS JOIN LATERAL (
      -- OFFSET 0 keeps the planner from reading the whole table once for all days.
      SELECT t.wallet, t.stream, t.symbol, t.state, t.is_success, t.fee_symbol, t.detail_synced_at, t.slip44, t.fee
        FROM ledger.transactions t
       WHERE t.wallet = d.wallet AND t.stream = d.stream AND t.is_listed
         AND t.occurred_at >= d.day::timestamp AT TIME ZONE 'UTC'
         AND t.occurred_at <= (d.day + 1)::timestamp AT TIME ZONE 'UTC' - interval '1 microsecond'
      OFFSET 0) AS t
  UNION ALL
  SELECT d.day, t.wallet, t.stream, t.symbol, t.state, t.is_success, t.fee_symbol, t.detail_synced_at, t.slip44, t.fee
    FROM days d JOIN ledger.transactions t
      ON t.wallet = d.wallet AND t.stream = d.stream AND t.is_listed AND t.occurred_at IS NULL
   WHERE d.day IS NULL
),
grouped AS (
  SELECT r.wallet, r.day, r.stream, r.symbol, r.state, r.is_success, r.fee_symbol, r.detail_synced_at IS NULL AS lacks_detail,
         r.slip44, max(r.fee) AS largest_fee
    FROM read r GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9
),
found AS (
  SELECT engine.sum_key(g.wallet, extract(epoch FROM g.day)::text, g.stream, g.symbol, g.state, g.is_success::text,
                        g.fee_symbol, g.lacks_detail::text, g.slip44::text) AS key, g.largest_fee
    FROM grouped g
)
UPDATE engine.daily_sums s
   SET largest_fee = f.largest_fee
  FROM unnest(keys) AS k (key) LEFT JOIN found f USING (key)
 WHERE s.key = k.key AND s.largest_fee IS DISTINCT FROM f.largest_fee;
UPDATE engine.all_sums a
   SET largest_fee = (SELECT max(s.largest_fee) FROM engine.daily_sums s
                       WHERE engine.sum_key(s.wallet, s.stream, s.symbol, s.state, s.is_success::text, s.fee_symbol, s.lacks_detail::text)
                             = engine.sum_key(a.wallet, a.stream, a.symbol, a.state, a.is_success::text, a.fee_symbol, a.lacks_detail::text)
                         AND s.slip44 IS NOT DISTINCT FROM a.slip44)
 WHERE a.key = ANY (keys);
$$;
--> statement-breakpoint
CREATE OR REPLACE VIEW engine.all_sums_now AS
SELECT g.stream, g.symbol, g.state, g.is_success, g.fee_symbol, g.transactions, g.amounts, g.amount, g.fees, g.fee,
       CASE WHEN g.lost_fee >= g.largest_fee THEN (
         SELECT max(CASE WHEN d.lost_fee >= d.largest_fee THEN greatest(
                  (SELECT max(t.fee) FROM ledger.transactions t
                    WHERE t.wallet = g.wallet AND t.stream = g.stream AND t.is_listed AND t.is_success = g.is_success
                      AND (t.detail_synced_at IS NULL) = g.lacks_detail
                      AND (t.symbol, t.state, t.fee_symbol) IS NOT DISTINCT FROM (g.symbol, g.state, g.fee_symbol)
                      AND t.occurred_at >= d.day::timestamp AT TIME ZONE 'UTC'
                      AND t.occurred_at <= (d.day + 1)::timestamp AT TIME ZONE 'UTC' - interval '1 microsecond'),
                  (SELECT max(t.fee) FROM ledger.transactions t
                    WHERE d.day IS NULL AND t.occurred_at IS NULL
                      AND t.wallet = g.wallet AND t.stream = g.stream AND t.is_listed AND t.is_success = g.is_success
                      AND (t.detail_synced_at IS NULL) = g.lacks_detail
                      AND (t.symbol, t.state, t.fee_symbol) IS NOT DISTINCT FROM (g.symbol, g.state, g.fee_symbol)))
                ELSE d.largest_fee END)
           FROM (SELECT n.day, max(n.largest_fee) AS largest_fee, max(n.lost_fee) AS lost_fee
                   FROM engine.daily_sums_now n
                  WHERE engine.sum_key(n.wallet, n.stream, n.symbol, n.state, n.is_success::text, n.fee_symbol, n.lacks_detail::text)
                        = engine.sum_key(g.wallet, g.stream, g.symbol, g.state, g.is_success::text, g.fee_symbol, g.lacks_detail::text)
                  GROUP BY n.day) AS d)
       ELSE g.largest_fee END AS largest_fee,
       g.lacks_detail, g.wallet
  FROM (SELECT x.wallet, x.stream, x.symbol, x.state, x.is_success, x.fee_symbol, x.lacks_detail,
               sum(x.transactions)::bigint AS transactions, sum(x.amounts)::bigint AS amounts, sum(x.amount) AS amount,
               sum(x.fees)::bigint AS fees, sum(x.fee) AS fee, max(x.largest_fee) AS largest_fee, max(x.lost_fee) AS lost_fee
          FROM (SELECT s.wallet, s.stream, s.symbol, s.state, s.is_success, s.fee_symbol, s.lacks_detail, s.transactions,
                       s.amounts, s.amount, s.fees, s.fee, s.largest_fee, NULL::numeric AS lost_fee
                  FROM engine.all_sums s
                UNION ALL
                SELECT c.wallet, c.stream, c.symbol, c.state, c.is_success, c.fee_symbol, c.lacks_detail, c.transactions,
                       c.amounts, c.amount, c.fees, c.fee, c.largest_fee, c.lost_fee
                  FROM engine.total_changes c) AS x
         GROUP BY x.wallet, x.stream, x.symbol, x.state, x.is_success, x.fee_symbol, x.lacks_detail
        HAVING sum(x.transactions) <> 0) AS g;
