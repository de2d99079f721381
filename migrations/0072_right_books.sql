-- The largest fee of a group is right before the changes are added up, too: where it may have left the group, the days
-- that it may have left are read.
CREATE OR REPLACE VIEW engine.daily_sums_now AS
SELECT s.day, s.stream, s.symbol, s.state, s.is_success, s.fee_symbol, s.transactions, s.amounts, s.amount, s.fees, s.fee,
       s.largest_fee, s.lacks_detail, s.wallet, s.slip44, NULL::numeric AS lost_fee
  FROM engine.daily_sums s
UNION ALL
SELECT c.day, c.stream, c.symbol, c.state, c.is_success, c.fee_symbol, c.transactions, c.amounts, c.amount, c.fees, c.fee,
       c.largest_fee, c.lacks_detail, c.wallet, c.slip44, c.lost_fee
  FROM engine.total_changes c;
--> statement-breakpoint
CREATE OR REPLACE VIEW engine.all_sums_now AS
SELECT g.stream, g.symbol, g.state, g.is_success, g.fee_symbol, g.transactions, g.amounts, g.amount, g.fees, g.fee,
       CASE WHEN g.lost_fee >= g.largest_fee THEN (
         SELECT max(CASE WHEN d.lost_fee >= d.largest_fee THEN (
                  SELECT max(t.fee) FROM ledger.transactions t
                   WHERE t.wallet = g.wallet AND t.stream = g.stream AND t.is_listed AND t.is_success = g.is_success
                     AND (t.detail_synced_at IS NULL) = g.lacks_detail
                     AND (t.symbol, t.state, t.fee_symbol) IS NOT DISTINCT FROM (g.symbol, g.state, g.fee_symbol)
                     AND ((t.occurred_at AT TIME ZONE 'UTC')::date = d.day OR d.day IS NULL AND t.occurred_at IS NULL))
                ELSE d.largest_fee END)
           FROM (SELECT n.day, max(n.largest_fee) AS largest_fee, max(n.lost_fee) AS lost_fee
                   FROM engine.daily_sums_now n
                  WHERE (n.wallet, n.stream, n.is_success, n.lacks_detail) = (g.wallet, g.stream, g.is_success, g.lacks_detail)
                    AND (n.symbol, n.state, n.fee_symbol) IS NOT DISTINCT FROM (g.symbol, g.state, g.fee_symbol)
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
--> statement-breakpoint
-- A largest fee that waits to be found again, because its transaction has left the group, is no drift.
CREATE OR REPLACE VIEW ledger.total_drift AS
SELECT seen.*
  FROM (SELECT x.day, x.stream, x.symbol, x.state, x.is_success, x.fee_symbol, sum(x.transactions)::bigint AS transactions,
               sum(x.amounts)::bigint AS amounts, sum(x.amount) AS amount, sum(x.fees)::bigint AS fees, sum(x.fee) AS fee,
               x.lacks_detail, x.wallet, x.slip44
          FROM (SELECT (t.occurred_at AT TIME ZONE 'UTC')::date AS day, t.stream, t.symbol, t.state, t.is_success, t.fee_symbol,
                       count(*) AS transactions, count(t.amount) AS amounts, coalesce(sum(t.amount), 0) AS amount,
                       count(t.fee) AS fees, coalesce(sum(t.fee), 0) AS fee, t.detail_synced_at IS NULL AS lacks_detail,
                       t.wallet, t.slip44, max(t.fee) AS counted_fee, NULL::numeric AS largest_fee, NULL::numeric AS lost_fee
                  FROM ledger.transactions t WHERE t.is_listed
                 GROUP BY 1, 2, 3, 4, 5, 6, 12, 13, 14
                UNION ALL
                SELECT s.day, s.stream, s.symbol, s.state, s.is_success, s.fee_symbol, - s.transactions, - s.amounts,
                       - s.amount, - s.fees, - s.fee, s.lacks_detail, s.wallet, s.slip44, NULL, s.largest_fee, s.lost_fee
                  FROM engine.daily_sums_now s) AS x
         GROUP BY x.day, x.stream, x.symbol, x.state, x.is_success, x.fee_symbol, x.lacks_detail, x.wallet, x.slip44
        HAVING sum(x.transactions) <> 0 OR sum(x.amounts) <> 0 OR sum(x.amount) <> 0 OR sum(x.fees) <> 0 OR sum(x.fee) <> 0
            OR max(x.counted_fee) IS DISTINCT FROM max(x.largest_fee)
               AND (max(x.lost_fee) >= max(x.largest_fee)) IS NOT TRUE) AS seen
 WHERE (SELECT engine.seen_wallets(current_user)) IS NULL
    OR seen.wallet = ANY ((SELECT engine.seen_wallets(current_user))::text[]);
--> statement-breakpoint
COMMENT ON VIEW ledger.total_drift IS 'What a recount of the transactions would add to the sums; a row of zeros: only the largest fee is wrong; no rows: they are right';
--> statement-breakpoint
-- The day as an OR of two conditions can use the indexes; as a CASE it read the whole list for each group.
DO $migration$
DECLARE
  former text := pg_get_functiondef('engine.find_largest_fees(uuid[])'::regprocedure);
  present text := regexp_replace(former, 'AND CASE WHEN s\.day IS NULL.*?s\.day END\)',
    $or$AND ((t.occurred_at AT TIME ZONE 'UTC')::date = s.day OR s.day IS NULL AND t.occurred_at IS NULL))$or$);
BEGIN
  ASSERT present <> former;
  EXECUTE present;
END $migration$;
--> statement-breakpoint
-- A list that was never looked at has no row in streams, and is not read to its end either.
DO $migration$
DECLARE
  former text := pg_get_functiondef('ledger.reconcile(timestamptz)'::regprocedure);
  starts integer := strpos(former, 'unwalked AS (');
  ends integer := strpos(former, 'compared AS (');
  present text;
BEGIN
  ASSERT starts > 0 AND ends > starts AND former NOT LIKE '%NOT EXISTS (SELECT FROM own.streams%';
  present := substr(former, 1, starts - 1) || $body$unwalked AS (
  SELECT string_agg(l.name, ', ' ORDER BY l.name) AS names FROM (VALUES ('deposit'), ('withdraw')) AS l (name)
   WHERE NOT EXISTS (SELECT FROM own.streams s WHERE s.name = l.name AND s.is_backed)
),
$body$ || substr(former, ends);
  EXECUTE present;
END $migration$;
--> statement-breakpoint
-- An amount that is not known is in no posting. So the entry that makes it known has the whole amount, and one that
-- takes it away again has what was posted: the known changes always add up to what changed in the books.
DO $migration$
DECLARE
  f record;
  former text;
  present text;
BEGIN
  FOR f IN
    SELECT * FROM (VALUES
      ('engine.note_inserted_late()', 'THEN sum(l.effect) END', 'THEN sum(l.effect) ELSE nullif(sum(l.effect), 0) END'),
      ('engine.note_deleted_late()', 'CASE WHEN count(*) = count(l.effect) THEN - sum(l.effect) END',
       'coalesce(- sum(l.effect), 0)'),
      ('engine.note_updated_late()', 'CASE WHEN count(*) = count(l.effect) THEN sum(c.sign * l.effect) END',
       'CASE WHEN bool_or(c.sign = 1 AND l.effect IS NULL) THEN nullif(sum(c.sign * l.effect), 0)
              ELSE coalesce(sum(c.sign * l.effect), 0) END')) AS v (name, old, new)
  LOOP
    former := pg_get_functiondef(f.name::regprocedure);
    present := replace(former, f.old, f.new);
    ASSERT present <> former, f.name;
    EXECUTE present;
  END LOOP;
END $migration$;
--> statement-breakpoint
COMMENT ON COLUMN ledger.late_entries.amount_change IS 'By how much the entry changes the coins in custody of that month, in units of the coin; 0 when it moved no money (a pending transaction, for example), null while the amount is not known: the entry that makes it known has all of it';
--> statement-breakpoint
-- Money in jsonb is a string: a JSON number is a float in most programs that read it.
DO $migration$
DECLARE
  former text := pg_get_viewdef('ledger.daily_flows'::regclass);
  present text := replace(former, ', g.fee)', ', g.fee::text)');
BEGIN
  ASSERT present <> former;
  EXECUTE 'CREATE OR REPLACE VIEW ledger.daily_flows AS ' || present;
END $migration$;
--> statement-breakpoint
COMMENT ON COLUMN ledger.daily_flows.fees IS 'Deprecated, see daily_fees: sums of their fees by fee coin, as {"ETH": "0.02"}; {} when no fee is known; the key is empty where a fee names no coin';
--> statement-breakpoint
SELECT engine.make_own_views();
--> statement-breakpoint
SELECT engine.settle_rights();
