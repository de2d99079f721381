-- Writers wait from here on, so that no sum is added between the emptying and the counting.
TRUNCATE engine.total_changes, engine.daily_sums, engine.all_sums;
--> statement-breakpoint
ALTER TABLE "engine"."all_sums" ADD COLUMN "lacks_detail" boolean NOT NULL;
--> statement-breakpoint
ALTER TABLE "engine"."daily_sums" ADD COLUMN "lacks_detail" boolean NOT NULL;
--> statement-breakpoint
ALTER TABLE "engine"."total_changes" ADD COLUMN "lacks_detail" boolean NOT NULL;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION engine.fold_totals() RETURNS void
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
    SELECT engine.sum_key(extract(epoch FROM t.day)::text, t.stream, t.symbol, t.state, t.is_success::text, t.fee_symbol,
                           t.lacks_detail::text) AS key, t.day,
           t.stream, t.symbol, t.state, t.is_success, t.fee_symbol, t.lacks_detail, sum(t.transactions) AS transactions,
           sum(t.amounts) AS amounts, sum(t.amount) AS amount, sum(t.fees) AS fees, sum(t.fee) AS fee,
           max(t.largest_fee) AS largest_fee, max(t.lost_fee) AS lost_fee
      FROM taken t GROUP BY t.day, t.stream, t.symbol, t.state, t.is_success, t.fee_symbol, t.lacks_detail
  ),
  daily AS (
    INSERT INTO engine.daily_sums AS s (key, day, stream, symbol, state, is_success, fee_symbol, lacks_detail, transactions,
                                        amounts, amount, fees, fee, largest_fee)
    SELECT g.key, g.day, g.stream, g.symbol, g.state, g.is_success, g.fee_symbol, g.lacks_detail, g.transactions,
           g.amounts, g.amount, g.fees, g.fee, g.largest_fee
      FROM grouped g
    ON CONFLICT (key) DO UPDATE
      SET transactions = s.transactions + excluded.transactions, amounts = s.amounts + excluded.amounts,
          amount = s.amount + excluded.amount, fees = s.fees + excluded.fees, fee = s.fee + excluded.fee,
          largest_fee = greatest(s.largest_fee, excluded.largest_fee)
    RETURNING s.key, s.transactions, s.largest_fee
  ),
  overall AS (
    INSERT INTO engine.all_sums AS s (key, stream, symbol, state, is_success, fee_symbol, lacks_detail, transactions, amounts,
                                      amount, fees, fee, largest_fee)
    SELECT engine.sum_key(g.stream, g.symbol, g.state, g.is_success::text, g.fee_symbol, g.lacks_detail::text), g.stream, g.symbol, g.state,
           g.is_success, g.fee_symbol, g.lacks_detail, sum(g.transactions), sum(g.amounts), sum(g.amount), sum(g.fees), sum(g.fee),
           max(g.largest_fee)
      FROM grouped g GROUP BY g.stream, g.symbol, g.state, g.is_success, g.fee_symbol, g.lacks_detail
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
CREATE OR REPLACE FUNCTION engine.find_largest_fees(keys uuid[]) RETURNS void
LANGUAGE sql
SET search_path = pg_catalog, pg_temp
AS $$
UPDATE engine.daily_sums s
   SET largest_fee = (SELECT max(t.fee) FROM ledger.transactions t
                         WHERE t.stream = s.stream AND t.is_listed AND t.is_success = s.is_success
                           AND (t.detail_synced_at IS NULL) = s.lacks_detail
                           AND (t.symbol, t.state, t.fee_symbol) IS NOT DISTINCT FROM (s.symbol, s.state, s.fee_symbol)
                           AND CASE WHEN s.day IS NULL THEN t.occurred_at IS NULL
                                    ELSE (t.occurred_at AT TIME ZONE 'UTC')::date = s.day END)
 WHERE s.key = ANY (keys);
UPDATE engine.all_sums a
   SET largest_fee = (SELECT max(s.largest_fee) FROM engine.daily_sums s
                       WHERE (s.stream, s.is_success, s.lacks_detail) = (a.stream, a.is_success, a.lacks_detail)
                         AND (s.symbol, s.state, s.fee_symbol) IS NOT DISTINCT FROM (a.symbol, a.state, a.fee_symbol))
 WHERE a.key IN (SELECT engine.sum_key(s.stream, s.symbol, s.state, s.is_success::text, s.fee_symbol, s.lacks_detail::text)
                   FROM engine.daily_sums s WHERE s.key = ANY (keys));
$$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION engine.note_inserted_totals() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  first_id bigint;
  last_id bigint;
BEGIN
  WITH added AS (
    INSERT INTO engine.total_changes
      (day, stream, symbol, state, is_success, fee_symbol, lacks_detail, transactions, amounts, amount, fees, fee, largest_fee)
    SELECT (n.occurred_at AT TIME ZONE 'UTC')::date, n.stream, n.symbol, n.state, n.is_success, n.fee_symbol,
           n.detail_synced_at IS NULL, count(*), count(n.amount), coalesce(sum(n.amount), 0), count(n.fee), coalesce(sum(n.fee), 0), max(n.fee)
      FROM new_rows n WHERE n.is_listed GROUP BY 1, 2, 3, 4, 5, 6, 7
    RETURNING id)
  SELECT min(a.id), max(a.id) INTO first_id, last_id FROM added a;
  IF last_id / 1000 > (first_id - 1) / 1000 THEN PERFORM engine.fold_totals(); END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION engine.note_deleted_totals() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  INSERT INTO engine.total_changes
    (day, stream, symbol, state, is_success, fee_symbol, lacks_detail, transactions, amounts, amount, fees, fee, lost_fee)
  SELECT (o.occurred_at AT TIME ZONE 'UTC')::date, o.stream, o.symbol, o.state, o.is_success, o.fee_symbol,
         o.detail_synced_at IS NULL, - count(*), - count(o.amount), - coalesce(sum(o.amount), 0), - count(o.fee), - coalesce(sum(o.fee), 0), max(o.fee)
    FROM old_rows o WHERE o.is_listed GROUP BY 1, 2, 3, 4, 5, 6, 7;
  PERFORM engine.fold_totals();
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION engine.note_updated_totals() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  first_id bigint;
  last_id bigint;
BEGIN
  WITH added AS (
    INSERT INTO engine.total_changes
      (day, stream, symbol, state, is_success, fee_symbol, lacks_detail, transactions, amounts, amount, fees, fee, largest_fee,
       lost_fee)
    SELECT g.day, g.stream, g.symbol, g.state, g.is_success, g.fee_symbol, g.lacks_detail, g.transactions, g.amounts,
           g.amount, g.fees, g.fee, g.largest_fee, CASE WHEN g.former_fee > coalesce(g.largest_fee, '-Infinity') THEN g.former_fee END
      FROM (SELECT (x.occurred_at AT TIME ZONE 'UTC')::date AS day, x.stream, x.symbol, x.state, x.is_success,
                   x.fee_symbol, x.lacks_detail, sum(x.sign) AS transactions,
                   coalesce(sum(x.sign) FILTER (WHERE x.amount IS NOT NULL), 0) AS amounts,
                   coalesce(sum(x.sign * x.amount), 0) AS amount,
                   coalesce(sum(x.sign) FILTER (WHERE x.fee IS NOT NULL), 0) AS fees,
                   coalesce(sum(x.sign * x.fee), 0) AS fee,
                   max(x.fee) FILTER (WHERE x.sign = 1) AS largest_fee,
                   max(x.fee) FILTER (WHERE x.sign = -1) AS former_fee
              FROM (SELECT 1 AS sign, n.stream, n.occurred_at, n.symbol, n.state, n.is_success, n.fee_symbol, n.amount, n.fee,
                           n.detail_synced_at IS NULL AS lacks_detail
                      FROM new_rows n WHERE n.is_listed
                    UNION ALL
                    SELECT -1, o.stream, o.occurred_at, o.symbol, o.state, o.is_success, o.fee_symbol, o.amount, o.fee,
                           o.detail_synced_at IS NULL
                      FROM old_rows o WHERE o.is_listed) AS x
             GROUP BY 1, 2, 3, 4, 5, 6, 7) AS g
     WHERE (g.transactions, g.amounts, g.amount, g.fees, g.fee) <> (0, 0, 0, 0, 0)
        OR g.former_fee IS DISTINCT FROM g.largest_fee
    RETURNING id)
  SELECT min(a.id), max(a.id) INTO first_id, last_id FROM added a;
  IF last_id / 1000 > (first_id - 1) / 1000 THEN PERFORM engine.fold_totals(); END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION engine.mend_totals() RETURNS bigint
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  mended bigint;
BEGIN
  PERFORM pg_advisory_xact_lock(7246007);
  INSERT INTO engine.total_changes (day, stream, symbol, state, is_success, fee_symbol, lacks_detail, transactions,
                                    amounts, amount, fees, fee)
  SELECT d.day, d.stream, d.symbol, d.state, d.is_success, d.fee_symbol, d.lacks_detail, d.transactions, d.amounts, d.amount, d.fees,
         d.fee
    FROM ledger.total_drift d;
  GET DIAGNOSTICS mended = ROW_COUNT;
  PERFORM engine.fold_totals();
  UPDATE engine.daily_sums s SET largest_fee = c.largest_fee
    FROM (SELECT engine.sum_key(extract(epoch FROM g.day)::text, g.stream, g.symbol, g.state, g.is_success::text, g.fee_symbol,
                                g.lacks_detail::text) AS key,
                 g.largest_fee
            FROM (SELECT (t.occurred_at AT TIME ZONE 'UTC')::date AS day, t.stream, t.symbol, t.state, t.is_success,
                         t.fee_symbol, t.detail_synced_at IS NULL AS lacks_detail, max(t.fee) AS largest_fee
                    FROM ledger.transactions t WHERE t.is_listed GROUP BY 1, 2, 3, 4, 5, 6, 7) AS g) AS c
   WHERE s.key = c.key AND s.largest_fee IS DISTINCT FROM c.largest_fee;
  UPDATE engine.all_sums s SET largest_fee = c.largest_fee
    FROM (SELECT engine.sum_key(d.stream, d.symbol, d.state, d.is_success::text, d.fee_symbol, d.lacks_detail::text) AS key,
                 max(d.largest_fee) AS largest_fee
            FROM engine.daily_sums d GROUP BY 1) AS c
   WHERE s.key = c.key AND s.largest_fee IS DISTINCT FROM c.largest_fee;
  RETURN mended;
END $$;
--> statement-breakpoint
CREATE OR REPLACE VIEW engine.daily_sums_now AS
SELECT s.day, s.stream, s.symbol, s.state, s.is_success, s.fee_symbol, s.transactions, s.amounts, s.amount, s.fees, s.fee,
       s.largest_fee, s.lacks_detail
  FROM engine.daily_sums s
UNION ALL
SELECT c.day, c.stream, c.symbol, c.state, c.is_success, c.fee_symbol, c.transactions, c.amounts, c.amount, c.fees, c.fee,
       c.largest_fee, c.lacks_detail
  FROM engine.total_changes c;
--> statement-breakpoint
CREATE OR REPLACE VIEW engine.all_sums_now AS
SELECT x.stream, x.symbol, x.state, x.is_success, x.fee_symbol, sum(x.transactions)::bigint AS transactions,
       sum(x.amounts)::bigint AS amounts, sum(x.amount) AS amount, sum(x.fees)::bigint AS fees, sum(x.fee) AS fee,
       max(x.largest_fee) AS largest_fee, x.lacks_detail
  FROM (SELECT s.stream, s.symbol, s.state, s.is_success, s.fee_symbol, s.transactions, s.amounts, s.amount, s.fees, s.fee,
               s.largest_fee, s.lacks_detail
          FROM engine.all_sums s
        UNION ALL
        SELECT c.stream, c.symbol, c.state, c.is_success, c.fee_symbol, c.transactions, c.amounts, c.amount, c.fees, c.fee,
               c.largest_fee, c.lacks_detail
          FROM engine.total_changes c) AS x
 GROUP BY x.stream, x.symbol, x.state, x.is_success, x.fee_symbol, x.lacks_detail
HAVING sum(x.transactions) <> 0;
--> statement-breakpoint
CREATE OR REPLACE VIEW ledger.total_drift AS
SELECT x.day, x.stream, x.symbol, x.state, x.is_success, x.fee_symbol, sum(x.transactions)::bigint AS transactions,
       sum(x.amounts)::bigint AS amounts, sum(x.amount) AS amount, sum(x.fees)::bigint AS fees, sum(x.fee) AS fee,
       x.lacks_detail
  FROM (SELECT (t.occurred_at AT TIME ZONE 'UTC')::date AS day, t.stream, t.symbol, t.state, t.is_success, t.fee_symbol,
               count(*) AS transactions, count(t.amount) AS amounts, coalesce(sum(t.amount), 0) AS amount,
               count(t.fee) AS fees, coalesce(sum(t.fee), 0) AS fee, t.detail_synced_at IS NULL AS lacks_detail
          FROM ledger.transactions t WHERE t.is_listed GROUP BY 1, 2, 3, 4, 5, 6, t.detail_synced_at IS NULL
        UNION ALL
        SELECT s.day, s.stream, s.symbol, s.state, s.is_success, s.fee_symbol, - s.transactions, - s.amounts, - s.amount,
               - s.fees, - s.fee, s.lacks_detail
          FROM engine.daily_sums_now s) AS x
 GROUP BY x.day, x.stream, x.symbol, x.state, x.is_success, x.fee_symbol, x.lacks_detail
HAVING (sum(x.transactions), sum(x.amounts), sum(x.amount), sum(x.fees), sum(x.fee)) <> (0, 0, 0, 0, 0);
--> statement-breakpoint
INSERT INTO engine.total_changes (day, stream, symbol, state, is_success, fee_symbol, lacks_detail, transactions, amounts,
                                  amount, fees, fee, largest_fee)
SELECT (t.occurred_at AT TIME ZONE 'UTC')::date, t.stream, t.symbol, t.state, t.is_success, t.fee_symbol,
       t.detail_synced_at IS NULL, count(*), count(t.amount), coalesce(sum(t.amount), 0), count(t.fee),
       coalesce(sum(t.fee), 0), max(t.fee)
  FROM ledger.transactions t WHERE t.is_listed GROUP BY 1, 2, 3, 4, 5, 6, 7;
--> statement-breakpoint
SELECT engine.fold_totals();
--> statement-breakpoint
CREATE OR REPLACE VIEW ledger.totals AS
SELECT s.stream, s.symbol, s.state, s.is_success, s.fee_symbol, s.transactions,
       CASE WHEN s.amounts > 0 THEN s.amount END AS amount, CASE WHEN s.fees > 0 THEN s.fee END AS fee, s.largest_fee,
       s.lacks_detail
  FROM engine.all_sums_now s;
--> statement-breakpoint
CREATE OR REPLACE VIEW ledger.waiting_details AS
SELECT c.order_no, c.is_final, greatest(c.due_at, c.claimed_until) AS due_at, c.refusals, false AS is_unscheduled
  FROM engine.detail_checks c
UNION ALL
SELECT t.order_no, true, t.first_seen_at, 0::smallint, true
  FROM ledger.transactions t
 WHERE t.is_final AND t.is_backfilled AND t.is_listed AND t.detail_synced_at IS NULL
   AND NOT EXISTS (SELECT FROM engine.detail_checks c WHERE c.order_no = t.order_no);
--> statement-breakpoint
-- Rows of the history that came since the last reading moved no balance since then, and how many wait for their detail
-- the totals say. So neither is read while a backfill goes on.
DO $migration$
DECLARE
  former text := pg_get_functiondef('ledger.reconcile(timestamptz)'::regprocedure);
  begins integer := position('moving AS MATERIALIZED (' IN former);
  ends integer := position(E'),\njudged AS (' IN former);
BEGIN
  ASSERT begins > 0 AND ends > begins;
  EXECUTE left(former, begins - 1) || $body$moving AS MATERIALIZED (
  SELECT t.stream, t.symbol, t.fee_symbol, t.state, t.is_final, t.detail_synced_at, t.changed_at, t.amount, t.fee,
         (t.changed_at >= m.moved_since
           AND (t.first_seen_at < m.moved_since
             OR coalesce(t.occurred_at, t.changed_at) >= m.moved_since - interval '1 day')) IS TRUE AS has_moved
    FROM ledger.transactions t CROSS JOIN moments m
   WHERE NOT t.is_final AND t.is_listed
  UNION ALL
  SELECT t.stream, t.symbol, t.fee_symbol, t.state, t.is_final, t.detail_synced_at, t.changed_at, t.amount, t.fee, true
    FROM ledger.transactions t
   WHERE t.is_final AND t.is_listed AND t.changed_at >= (SELECT m.moved_since FROM moments m)
     AND (t.first_seen_at < (SELECT m.moved_since FROM moments m)
       OR coalesce(t.occurred_at, t.changed_at) >= (SELECT m.moved_since - interval '1 day' FROM moments m))
  UNION ALL
  SELECT t.stream, t.symbol, t.fee_symbol, t.state, t.is_final, t.detail_synced_at, t.changed_at, t.amount, t.fee, false
    FROM ledger.waiting_details w JOIN ledger.transactions t ON t.order_no = w.order_no
   WHERE w.is_final AND NOT w.is_unscheduled AND t.is_final AND t.is_listed AND t.detail_synced_at IS NOT NULL
     AND (t.changed_at >= (SELECT m.moved_since FROM moments m)
       AND (t.first_seen_at < (SELECT m.moved_since FROM moments m)
         OR coalesce(t.occurred_at, t.changed_at) >= (SELECT m.moved_since - interval '1 day' FROM moments m))) IS NOT TRUE
),
moving_groups AS MATERIALIZED (
  SELECT t.stream, t.symbol, t.fee_symbol, t.state, t.is_final, t.detail_synced_at IS NULL AS lacks_detail,
         NOT t.is_final OR t.detail_synced_at IS NULL OR t.detail_synced_at < t.changed_at AS is_due, t.has_moved,
         count(*) AS transactions, sum(t.amount) AS amount, sum(t.fee) AS fee, max(t.fee) AS largest_fee
    FROM moving t
   GROUP BY 1, 2, 3, 4, 5, 6, 7, 8
),
others AS (
  SELECT x.stream, x.symbol, x.fee_symbol, x.state, x.lacks_detail, sum(x.transactions) AS transactions,
         sum(x.amount) AS amount, sum(x.fee) AS fee, max(x.largest_fee) AS largest_fee
    FROM (SELECT t.stream, t.symbol, t.fee_symbol, t.state, t.lacks_detail, t.transactions, t.amount, t.fee,
                 t.largest_fee
            FROM ledger.totals t
          UNION ALL
          SELECT g.stream, g.symbol, g.fee_symbol, g.state, g.lacks_detail, - g.transactions, - g.amount, - g.fee, NULL
            FROM moving_groups g) AS x
   GROUP BY x.stream, x.symbol, x.fee_symbol, x.state, x.lacks_detail
),
groups AS MATERIALIZED (
  SELECT x.stream, x.symbol, x.fee_symbol, x.state, x.is_final, x.is_due, x.has_moved,
         sum(x.transactions) AS transactions, sum(x.amount) AS amount, sum(x.fee) AS fee,
         max(x.largest_fee) AS largest_fee
    FROM (SELECT g.stream, g.symbol, g.fee_symbol, g.state, g.is_final, g.is_due, g.has_moved, g.transactions, g.amount,
                 g.fee, g.largest_fee
            FROM moving_groups g
          UNION ALL
          SELECT o.stream, o.symbol, o.fee_symbol, o.state, true, o.lacks_detail, false, o.transactions, o.amount, o.fee,
                 o.largest_fee
            FROM others o WHERE o.transactions > 0) AS x
   GROUP BY x.stream, x.symbol, x.fee_symbol, x.state, x.is_final, x.is_due, x.has_moved
$body$ || substr(former, ends);
END $migration$;
--> statement-breakpoint
COMMENT ON COLUMN engine.all_sums.lacks_detail IS 'True for transactions whose detail has not come yet';
COMMENT ON COLUMN engine.daily_sums.lacks_detail IS 'True for transactions whose detail has not come yet';
COMMENT ON COLUMN engine.total_changes.lacks_detail IS 'True for transactions whose detail has not come yet';
COMMENT ON COLUMN ledger.totals.lacks_detail IS 'True for transactions whose detail has not come yet; their fees are not known as a rule';
COMMENT ON COLUMN ledger.total_drift.lacks_detail IS 'True for transactions whose detail has not come yet';
COMMENT ON COLUMN ledger.waiting_details.is_unscheduled IS 'True for rows of the history whose detail was never fetched: they are taken as they come, and have no due time of their own';
--> statement-breakpoint
SELECT engine.settle_rights();
