-- Each coin with a difference looked through all transactions whose detail is waited for: with 5,000 such coins and 60,000
-- rows a comparison took nearly the minute that a statement may. Now all coins share one reading.
CREATE FUNCTION ledger.awaiting_fees(asset_nos bigint[], symbols text[], since timestamptz[])
RETURNS SETOF bigint
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET jit = off
AS $$
BEGIN
  -- A withdrawal may cost a fee in any coin. Where many wait, the first that is read is mostly old enough for all coins.
  IF EXISTS (SELECT FROM own.waiting_details w JOIN own.transactions t USING (order_no)
              WHERE t.is_listed AND t.stream = 'withdraw'
                AND t.first_seen_at <= (SELECT min(s.at) FROM unnest(since) AS s (at))) THEN
    RETURN QUERY SELECT unnest(asset_nos);
    RETURN;
  END IF;
  RETURN QUERY
    WITH oldest AS MATERIALIZED (
      SELECT t.symbol, min(t.first_seen_at) AS of_coin, min(t.first_seen_at) FILTER (WHERE t.stream = 'withdraw') AS of_withdrawals
        FROM own.waiting_details w JOIN own.transactions t USING (order_no)
       WHERE t.is_listed AND t.first_seen_at <= (SELECT max(s.at) FROM unnest(since) AS s (at))
       GROUP BY t.symbol
    )
    SELECT a.no FROM unnest(asset_nos, symbols, since) AS a (no, symbol, since)
      LEFT JOIN oldest o ON o.symbol = a.symbol
     WHERE least(o.of_coin, (SELECT min(x.of_withdrawals) FROM oldest x)) <= a.since;
END
$$;
--> statement-breakpoint
DO $migration$
DECLARE
  present text := pg_get_functiondef('ledger.standing_difference(text, integer, text, numeric, numeric, timestamptz, timestamptz)'::regprocedure);
  begins CONSTANT integer := position('    tolerance := CASE' IN present);
  ends CONSTANT integer := position('    moved_since := least' IN present);
BEGIN
  ASSERT begins > 0 AND ends > begins;
  present := left(present, begins - 1) || substr(present, ends);
  present := replace(present, 'OUT tolerance numeric', 'OUT since timestamp with time zone');
  present := replace(present, 'fee_bound numeric, ', '');
  present := replace(present, E'  since timestamptz;\n', '');
  ASSERT position('fee_bound' IN present) = 0 AND position('OUT since' IN present) > 0 AND position('  since timestamptz;' IN present) = 0;
  DROP FUNCTION ledger.standing_difference(text, integer, text, numeric, numeric, timestamptz, timestamptz);
  EXECUTE present;
END $migration$;
--> statement-breakpoint
DO $migration$
DECLARE
  coins text := pg_get_functiondef('ledger.reconcile(timestamptz)'::regprocedure);
  assets text := pg_get_functiondef('ledger.reconcile_assets(timestamptz)'::regprocedure);
  awaiting CONSTANT text := $new$awaiting AS MATERIALIZED (
  SELECT f.no
    FROM (SELECT array_agg(t.no) AS nos, array_agg(t.symbol) AS symbols, array_agg(t.since) AS since
            FROM standing t WHERE t.moved_since IS NOT NULL AND t.fee_at_most > 0) AS a
   CROSS JOIN LATERAL ledger.awaiting_fees(a.nos, a.symbols, a.since) AS f (no)
   WHERE a.nos IS NOT NULL
),
asked AS ($new$;
BEGIN
  coins := replace(coins, 'd.standing, d.moved_since, d.tolerance', 'd.standing, d.moved_since, d.since, w.fee_at_most');
  coins := replace(coins, 'w.difference, w.fee_at_most, balances_read_at', 'w.difference, balances_read_at');
  coins := replace(coins, E'\nasked AS (', E'\n' || awaiting);
  coins := replace(coins, 'array_agg(t.tolerance ORDER BY t.no)',
    'array_agg(CASE WHEN t.no IN (SELECT f.no FROM awaiting f) THEN t.fee_at_most ELSE 0 END ORDER BY t.no)');
  assets := replace(assets, 'd.standing, d.moved_since, d.tolerance', 'd.standing, d.moved_since');
  assets := replace(assets, 'w.difference, 0, balances_read_at', 'w.difference, balances_read_at');
  assets := replace(assets, 'array_agg(t.tolerance ORDER BY t.no)', 'array_agg(0::numeric)');
  ASSERT position('awaiting_fees' IN coins) > 0 AND position('t.tolerance' IN coins) + position('t.tolerance' IN assets) = 0
    AND position('w.difference, balances_read_at' IN coins) > 0 AND position('w.difference, balances_read_at' IN assets) > 0;
  EXECUTE coins;
  EXECUTE assets;
END $migration$;
--> statement-breakpoint
DO $migration$
DECLARE
  former CONSTANT text := pg_get_functiondef('ledger.paid_exactly(bigint[], text[], numeric[], numeric[], timestamptz[])'::regprocedure);
  present CONSTANT text := replace(former, 'SELECT a.no FROM asked a JOIN counted c ON c.no = a.no
 WHERE abs(', 'SELECT a.no FROM asked a WHERE a.amount <= a.tolerance
UNION
SELECT a.no FROM asked a JOIN counted c ON c.no = a.no
 WHERE abs(');
BEGIN
  ASSERT present <> former;
  EXECUTE present;
END $migration$;
--> statement-breakpoint
DO $migration$
DECLARE
  present text;
BEGIN
  -- The argument, a function, was called anew for each row: the body of reconcile is put in the place of its call.
  FOR present IN SELECT pg_get_functiondef(p.oid) FROM pg_proc p
                  WHERE p.oid IN ('engine.reconciliation_of(text)'::regprocedure, 'engine.asset_reconciliation_of(text)'::regprocedure) LOOP
    present := replace(present, E'\nBEGIN\n', E'\n  read_at timestamptz;\nBEGIN\n');
    present := replace(present, '  RETURN QUERY', E'  read_at := ledger.balances_read_at();\n  RETURN QUERY');
    present := replace(present, '(ledger.balances_read_at()) r', '(read_at) r');
    ASSERT position('(read_at) r' IN present) > 0 AND position('read_at timestamptz;' IN present) > 0;
    EXECUTE present;
  END LOOP;
END $migration$;
--> statement-breakpoint
COMMENT ON FUNCTION ledger.awaiting_fees IS 'The numbers of those coins that a fee may still change: of a transaction first seen at or before since whose detail is waited for, a withdrawal or one of the coin itself';
--> statement-breakpoint
COMMENT ON FUNCTION ledger.paid_exactly IS 'The numbers of those differences that transactions which are open, or have changed since, would pay exactly: one of them, several of the same amount, two of them, or all of a list or state. One within its tolerance needs none';
--> statement-breakpoint
COMMENT ON FUNCTION ledger.standing_difference IS 'Why a difference that reconciliation_runs already knows is not explained any more; null if it may be. Where moved_since is given, it is explained all the same if movements since then pay it exactly (ledger.paid_exactly), up to a fee that was awaited at since (ledger.awaiting_fees)';
--> statement-breakpoint
SELECT engine.settle_rights();
