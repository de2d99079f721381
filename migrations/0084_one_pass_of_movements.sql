-- Each coin with a difference read all open and moved rows: with 5,000 such coins and 60,000 rows a comparison took more
-- than the minute that a statement may, and so never ended. Now all coins share one reading.
DROP FUNCTION ledger.is_paid_exactly(text, numeric, numeric, timestamptz);
--> statement-breakpoint
CREATE FUNCTION ledger.paid_exactly(asset_nos bigint[], symbols text[], amounts numeric[], tolerances numeric[], moved_since timestamptz[])
RETURNS SETOF bigint
LANGUAGE sql STABLE PARALLEL SAFE
SET enable_nestloop = off SET jit = off
AS $$
WITH asked AS MATERIALIZED (
  SELECT a.no, a.symbol, abs(a.amount) AS amount, a.tolerance, a.since
    FROM unnest(asset_nos, symbols, amounts, tolerances, moved_since) AS a (no, symbol, amount, tolerance, since)
),
movements AS MATERIALIZED (
  SELECT o.stream, o.state, o.is_final, o.symbol, o.amount, o.fee_symbol, o.fee, NULL::timestamptz AS moved_at
    FROM own.transactions o WHERE NOT o.is_final AND o.is_listed
  UNION ALL
  SELECT c.stream, c.state, c.is_final, c.symbol, c.amount, c.fee_symbol, c.fee, c.changed_at
    FROM ledger.transactions c
   WHERE c.wallet || '' = coalesce(nullif(current_setting('ledger.wallet', true), ''), 'main')
     AND c.is_final AND c.is_listed AND c.changed_at >= (SELECT min(a.since) FROM asked a)
),
nameless AS MATERIALIZED (SELECT * FROM movements m WHERE m.symbol IS NULL),
-- No condition compares all movements with all coins. Few movements name no coin.
candidates AS MATERIALIZED (
  SELECT a.no, m.stream, m.state, m.is_final, abs(m.amount) AS amount,
         CASE WHEN m.fee_symbol = a.symbol THEN abs(m.fee) END AS fee
    FROM asked a JOIN movements m ON m.symbol = a.symbol WHERE m.moved_at IS NULL OR m.moved_at >= a.since
  UNION ALL
  SELECT a.no, m.stream, m.state, m.is_final, abs(m.amount), CASE WHEN m.fee_symbol = a.symbol THEN abs(m.fee) END
    FROM asked a CROSS JOIN nameless m WHERE m.moved_at IS NULL OR m.moved_at >= a.since
  UNION ALL
  SELECT a.no, m.stream, m.state, m.is_final, NULL, abs(m.fee)
    FROM asked a JOIN movements m ON m.fee_symbol = a.symbol
   WHERE m.symbol <> a.symbol AND (m.moved_at IS NULL OR m.moved_at >= a.since)
),
counted AS MATERIALIZED (
  SELECT g.no, g.amount, g.transactions
    FROM (SELECT c.no, v.amount, count(*) AS transactions,
                 row_number() OVER (PARTITION BY c.no ORDER BY count(*) DESC, v.amount) AS place
            FROM candidates c CROSS JOIN LATERAL (VALUES (c.amount), (c.fee), (c.amount + c.fee)) AS v (amount)
           WHERE v.amount > 0
           GROUP BY c.no, v.amount) AS g
   WHERE g.place <= 300
),
sums AS (
  SELECT c.no, sum(c.amount) AS amount, sum(coalesce(c.amount, 0) + coalesce(c.fee, 0)) AS with_fees
    FROM candidates c WHERE NOT c.is_final GROUP BY GROUPING SETS ((c.no, c.stream), (c.no, c.stream, c.state))
)
SELECT a.no FROM asked a JOIN counted c ON c.no = a.no
 WHERE abs(a.amount - c.amount) <= a.tolerance OR a.amount <= c.amount * c.transactions AND mod(a.amount, c.amount) = 0
UNION
SELECT a.no FROM asked a JOIN sums s ON s.no = a.no
 WHERE abs(a.amount - s.amount) <= a.tolerance OR abs(a.amount - s.with_fees) <= a.tolerance
UNION
SELECT a.no FROM asked a JOIN counted c ON c.no = a.no JOIN counted d ON d.no = a.no AND d.amount = a.amount - c.amount
UNION
SELECT a.no FROM asked a JOIN counted c ON c.no = a.no JOIN counted d ON d.no = a.no AND d.amount = a.amount + c.amount
$$;
--> statement-breakpoint
DO $migration$
DECLARE
  former CONSTANT text := pg_get_functiondef('ledger.standing_difference(text, integer, text, numeric, numeric, timestamptz, timestamptz)'::regprocedure);
  present text;
BEGIN
  present := replace(former, 'lists_read_at timestamp with time zone)',
    'lists_read_at timestamp with time zone, OUT standing text, OUT moved_since timestamp with time zone, OUT tolerance numeric)');
  present := replace(present, ' RETURNS text', ' RETURNS record');
  present := replace(present, E'  tolerance numeric;\n', '');
  present := replace(present, 'RETURN NULL;', 'RETURN;');
  present := replace(present, $old$    IF abs(difference) <= tolerance OR ledger.is_paid_exactly(
         of_symbol, difference, tolerance, least(since, balances_read_at - interval '15 minutes')) THEN
      RETURN;
    END IF;
$old$, $new$    IF abs(difference) <= tolerance THEN RETURN; END IF;
    moved_since := least(since, balances_read_at - interval '15 minutes');
$new$);
  present := replace(present, $old$    RETURN 'was unexplained before, when it was ' || last.difference || ', and no later movement explains it';
  END IF;
  RETURN 'has been$old$, $new$    standing := 'was unexplained before, when it was ' || last.difference || ', and no later movement explains it';
    RETURN;
  END IF;
  standing := 'has been$new$);
  -- Without a fee that may come it does not matter whether one is waited for, which is long to find out.
  present := replace(present, 'CASE WHEN EXISTS (SELECT FROM own.waiting_details', 'CASE WHEN fee_bound > 0 AND EXISTS (SELECT FROM own.waiting_details');
  ASSERT position('fee_bound > 0' IN present) > 0 AND (length(present) - length(replace(present, 'standing := ', ''))) / length('standing := ') = 2
    AND position('moved_since := least' IN present) > 0 AND position('is_paid_exactly' IN present) = 0;
  DROP FUNCTION ledger.standing_difference(text, integer, text, numeric, numeric, timestamptz, timestamptz);
  EXECUTE present;
END $migration$;
--> statement-breakpoint
DO $migration$
DECLARE
  tail CONSTANT text := $tail$,
standing AS MATERIALIZED (
  SELECT row_number() OVER () AS no, %1$s, w.difference, d.standing, d.moved_since, d.tolerance
    FROM weighed w CROSS JOIN moments m
   CROSS JOIN LATERAL ledger.standing_difference(%2$s, balances_read_at, m.lists_read_at) AS d
   WHERE %3$s
),
asked AS (
  SELECT array_agg(t.no ORDER BY t.no) AS nos, array_agg(t.symbol ORDER BY t.no) AS symbols,
         array_agg(t.difference ORDER BY t.no) AS differences, array_agg(t.tolerance ORDER BY t.no) AS tolerances,
         array_agg(t.moved_since ORDER BY t.no) AS moved_since
    FROM standing t WHERE t.moved_since IS NOT NULL
),
s AS (
  SELECT t.* FROM standing t
   WHERE t.no NOT IN (SELECT p.no FROM asked a
                       CROSS JOIN LATERAL ledger.paid_exactly(a.nos, a.symbols, a.differences, a.tolerances, a.moved_since) AS p (no)
                       WHERE a.nos IS NOT NULL)
)
$tail$;
  nameless CONSTANT text := 'nameless AS (';
  unwalked CONSTANT text := 'unwalked AS (';
  coins text := pg_get_functiondef('ledger.reconcile(timestamptz)'::regprocedure);
  assets text := pg_get_functiondef('ledger.reconcile_assets(timestamptz)'::regprocedure);
  head integer := position(E'\nSELECT w.symbol, w.deposits' IN coins);
  last integer := position(E' CROSS JOIN moments m\n CROSS JOIN LATERAL (\n    SELECT CASE WHEN w.difference <> 0' IN coins);
BEGIN
  ASSERT head > 0 AND last > head AND position(nameless IN coins) > 0 AND position(unwalked IN coins) > 0;
  -- Each was worked out anew for each coin.
  EXECUTE replace(replace(left(coins, head - 1), nameless, 'nameless AS MATERIALIZED ('), unwalked, 'unwalked AS MATERIALIZED (')
    || format(tail, 'w.symbol', 'w.symbol, NULL, NULL, w.difference, w.fee_at_most',
              'w.difference <> 0 AND w.is_payable AND NOT w.is_unread')
    || substr(coins, head + 1, last - head - 1) || E'  LEFT JOIN s ON s.symbol = w.symbol\n$function$';
  head := position(E'\nSELECT w.slip44, w.symbol' IN assets);
  last := position(E' CROSS JOIN LATERAL (\n    SELECT CASE WHEN w.is_shared AND w.difference <> 0' IN assets);
  ASSERT head > 0 AND last > head;
  EXECUTE left(assets, head - 1)
    || E',\nmoments AS (\n  SELECT (SELECT r.started_at FROM own.sync_runs r\n'
    || E'           WHERE r.job = ''transactions'' AND r.outcome IN (''done'', ''incomplete'')\n'
    || E'           ORDER BY r.id DESC LIMIT 1) AS lists_read_at\n)'
    || format(tail, 'w.slip44, w.symbol, w.contract_address', 'w.symbol, w.slip44, w.contract_address, w.difference, 0',
              'w.is_shared AND w.difference <> 0 AND NOT w.is_unassigned AND w.is_payable AND balances_read_at IS NOT NULL')
    || substr(assets, head + 1, last - head - 1)
    || E'  LEFT JOIN s ON s.symbol = w.symbol AND s.slip44 = w.slip44 AND s.contract_address = w.contract_address\n$function$';
END $migration$;
--> statement-breakpoint
COMMENT ON FUNCTION ledger.paid_exactly IS 'The numbers of those differences that transactions which are open, or have changed since, would pay exactly: one of them, several of the same amount, two of them, or all of a list or state';
COMMENT ON FUNCTION ledger.standing_difference IS 'Why a difference that reconciliation_runs already knows is not explained any more; null if it may be. Where moved_since is given, it is explained all the same if movements since then pay it exactly, up to the tolerance (ledger.paid_exactly)';
--> statement-breakpoint
SELECT engine.settle_rights();
