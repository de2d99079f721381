DROP INDEX "ledger"."reconciliation_runs_symbol";--> statement-breakpoint
ALTER TABLE "ledger"."reconciliation_runs" ADD COLUMN "slip44" integer;--> statement-breakpoint
ALTER TABLE "ledger"."reconciliation_runs" ADD COLUMN "contract_address" text;--> statement-breakpoint
ALTER TABLE "ledger"."reconciliation_runs" ADD COLUMN "unexplained_since" timestamp with time zone;--> statement-breakpoint
CREATE INDEX "reconciliation_runs_latest" ON "ledger"."reconciliation_runs" USING btree ("symbol",coalesce("slip44", -1),coalesce("contract_address", ''),"id" DESC NULLS FIRST);
--> statement-breakpoint
UPDATE ledger.reconciliation_runs SET unexplained_since = observed_at WHERE NOT is_explained;
--> statement-breakpoint
COMMENT ON TABLE ledger.reconciliation_runs IS 'What reconciliation (slip44 is null) or asset_reconciliation said whenever a difference changed: one row per change, written when balances are read';
--> statement-breakpoint
COMMENT ON COLUMN ledger.reconciliation_runs.slip44 IS 'slip44 code of the asset''s chain; null: the row is about the coin over all chains';
--> statement-breakpoint
COMMENT ON COLUMN ledger.reconciliation_runs.contract_address IS 'Contract address of the asset, empty for a main-chain coin; null where slip44 is null';
--> statement-breakpoint
COMMENT ON COLUMN ledger.reconciliation_runs.is_explained IS 'Whether the difference is 0 or what is open can pay for it; follows the latest judgement as long as the difference stays';
--> statement-breakpoint
COMMENT ON COLUMN ledger.reconciliation_runs.explanation IS 'Why it is explained or not, by the latest judgement; null when the difference is 0 or nothing is open';
--> statement-breakpoint
COMMENT ON COLUMN ledger.reconciliation_runs.unexplained_since IS 'Since when the differences of this coin or asset have been unexplained without a break; null when this one is explained';
--> statement-breakpoint
CREATE VIEW ledger.unexplained_differences AS
WITH RECURSIVE latest AS (
  (SELECT r.symbol, r.slip44, r.contract_address, r.difference, r.is_explained, r.unexplained_since, r.explanation
     FROM ledger.reconciliation_runs r
    ORDER BY r.symbol, coalesce(r.slip44, -1), coalesce(r.contract_address, ''), r.id DESC
    LIMIT 1)
  UNION ALL
  SELECT n.symbol, n.slip44, n.contract_address, n.difference, n.is_explained, n.unexplained_since, n.explanation
    FROM latest l
   CROSS JOIN LATERAL (
      SELECT r.symbol, r.slip44, r.contract_address, r.difference, r.is_explained, r.unexplained_since, r.explanation
        FROM ledger.reconciliation_runs r
       WHERE (r.symbol, coalesce(r.slip44, -1), coalesce(r.contract_address, ''))
           > (l.symbol, coalesce(l.slip44, -1), coalesce(l.contract_address, ''))
       ORDER BY r.symbol, coalesce(r.slip44, -1), coalesce(r.contract_address, ''), r.id DESC
       LIMIT 1) AS n
)
SELECT symbol, slip44, contract_address, difference AS amount, unexplained_since AS since, explanation
  FROM latest
 WHERE NOT is_explained;
--> statement-breakpoint
COMMENT ON VIEW ledger.unexplained_differences IS 'Balances that the transactions do not add up to and that nothing open can pay for, as of the last reading of the balances';
--> statement-breakpoint
COMMENT ON COLUMN ledger.unexplained_differences.symbol IS 'Coin symbol code';
--> statement-breakpoint
COMMENT ON COLUMN ledger.unexplained_differences.slip44 IS 'slip44 code of the asset''s chain; null: the coin over all chains';
--> statement-breakpoint
COMMENT ON COLUMN ledger.unexplained_differences.contract_address IS 'Contract address of the asset, empty for a main-chain coin; null where slip44 is null';
--> statement-breakpoint
COMMENT ON COLUMN ledger.unexplained_differences.amount IS 'Reported less expected, in units of the coin';
--> statement-breakpoint
COMMENT ON COLUMN ledger.unexplained_differences.since IS 'Since when the difference has been unexplained without a break';
--> statement-breakpoint
COMMENT ON COLUMN ledger.unexplained_differences.explanation IS 'What is open, and why it does not explain the difference; null when nothing is open';
--> statement-breakpoint
-- When the balances were last asked for; the balances' own times serve where no run of the job is on record.
CREATE FUNCTION ledger.balances_read_at()
RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
SELECT greatest((SELECT s.started_at FROM ledger.sync_runs s
                  WHERE s.job = 'balances' AND s.outcome IN ('done', 'incomplete') ORDER BY s.id DESC LIMIT 1),
                (SELECT max(b.observed_at) FROM ledger.balances b))
$$;
--> statement-breakpoint
COMMENT ON FUNCTION ledger.balances_read_at IS 'When the balances were last read; null before the first time';
--> statement-breakpoint
-- One row's amount, a multiple of it, two of them, or all that is open in one state. Only 300 amounts are combined,
-- for more of them would find a pair for nearly any number.
CREATE FUNCTION ledger.is_paid_exactly(of_symbol text, of_amount numeric, tolerance numeric, moved_since timestamptz)
RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
WITH candidates AS MATERIALIZED (
  SELECT t.stream, t.state, t.is_final,
         CASE WHEN t.symbol = of_symbol OR t.symbol IS NULL THEN abs(t.amount) END AS amount,
         CASE WHEN t.fee_symbol = of_symbol THEN abs(t.fee) END AS fee
    FROM ledger.transactions t
   WHERE t.is_listed AND (t.symbol = of_symbol OR t.symbol IS NULL OR t.fee_symbol = of_symbol)
     AND (NOT t.is_final OR t.changed_at >= moved_since)
),
amounts AS MATERIALIZED (
  SELECT v.amount, count(*) AS transactions
    FROM candidates c CROSS JOIN LATERAL (VALUES (c.amount), (c.fee), (c.amount + c.fee)) AS v (amount)
   WHERE v.amount > 0
   GROUP BY v.amount
   ORDER BY count(*) DESC, v.amount
   LIMIT 300
),
sums AS (
  SELECT sum(c.amount) AS amount, sum(coalesce(c.amount, 0) + coalesce(c.fee, 0)) AS with_fees
    FROM candidates c WHERE NOT c.is_final GROUP BY GROUPING SETS ((c.stream), (c.stream, c.state))
)
SELECT EXISTS (SELECT FROM amounts a
                WHERE abs(abs(of_amount) - a.amount) <= tolerance
                   OR abs(of_amount) <= a.amount * a.transactions AND mod(abs(of_amount), a.amount) = 0)
    OR EXISTS (SELECT FROM sums s
                WHERE abs(abs(of_amount) - s.amount) <= tolerance OR abs(abs(of_amount) - s.with_fees) <= tolerance)
    OR EXISTS (SELECT FROM amounts a JOIN amounts b ON b.amount IN (abs(of_amount) - a.amount, abs(of_amount) + a.amount))
$$;
--> statement-breakpoint
COMMENT ON FUNCTION ledger.is_paid_exactly IS 'Whether transactions that are open, or have changed since then, make up this amount of the coin to the last digit, up to a tolerance for fees not known yet';
--> statement-breakpoint
-- What is open explains a difference for a moment; one that stands while the lists go on must be paid to the digit. A
-- difference that was unexplained before stays so until it is, for what moves beside it hides it only by chance.
CREATE FUNCTION ledger.standing_difference(of_symbol text, of_slip44 integer, of_contract_address text, difference numeric,
                                           fee_bound numeric, balances_read_at timestamptz, lists_read_at timestamptz)
RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $$
DECLARE
  last record;
  since timestamptz;
  tolerance numeric;
BEGIN
  SELECT r.difference, r.is_explained, r.observed_at INTO last
    FROM ledger.reconciliation_runs r
   WHERE r.symbol = of_symbol AND coalesce(r.slip44, -1) = coalesce(of_slip44, -1)
     AND coalesce(r.contract_address, '') = coalesce(of_contract_address, '') AND r.observed_at < balances_read_at
   ORDER BY r.id DESC LIMIT 1;
  IF NOT FOUND OR last.difference = 0 THEN
    RETURN NULL;
  END IF;
  SELECT min(h.observed_at) FILTER (WHERE h.difference = standing_difference.difference) INTO since
    FROM (SELECT r.*, bool_or(r.difference = 0) OVER (ORDER BY r.id DESC) AS is_before_zero
            FROM (SELECT n.id, n.difference, n.observed_at
                    FROM ledger.reconciliation_runs n
                   WHERE n.symbol = of_symbol AND coalesce(n.slip44, -1) = coalesce(of_slip44, -1)
                     AND coalesce(n.contract_address, '') = coalesce(of_contract_address, '')
                     AND n.observed_at < balances_read_at
                   ORDER BY n.id DESC LIMIT 5) AS r) AS h
   WHERE NOT h.is_before_zero;
  IF last.is_explained AND (since IS NULL OR since >= lists_read_at) THEN
    RETURN NULL;
  END IF;
  IF last.is_explained OR last.difference <> difference THEN
    since := coalesce(since, last.observed_at);
    tolerance := CASE WHEN EXISTS (SELECT FROM ledger.transactions t
                                    WHERE t.next_check_at IS NOT NULL AND t.is_listed AND t.first_seen_at <= since
                                      AND (t.stream = 'withdraw' OR t.symbol = of_symbol))
                   THEN coalesce(fee_bound, 0) ELSE 0 END;
    IF abs(difference) <= tolerance OR ledger.is_paid_exactly(
         of_symbol, difference, tolerance, least(since, balances_read_at - interval '15 minutes')) THEN
      RETURN NULL;
    END IF;
  END IF;
  IF last.difference <> difference THEN
    RETURN 'was unexplained before, when it was ' || last.difference || ', and nothing that moved makes it up';
  END IF;
  RETURN 'has stood since ' || to_char(coalesce(since, last.observed_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS')
      || ' UTC, and nothing that is open or moved since makes it up';
END
$$;
--> statement-breakpoint
COMMENT ON FUNCTION ledger.standing_difference IS 'Why a difference that reconciliation_runs already knows is not explained by what is open now; null where it may be';
--> statement-breakpoint
ALTER FUNCTION ledger.reconcile(timestamptz) RENAME TO reconcile_by_any_reason;
--> statement-breakpoint
-- Around the reading of the balances, money moves that the lists have not shown yet. The bound of that is by how much
-- the balances changed since they were read before, plus what the lists did show to have moved meanwhile.
CREATE FUNCTION ledger.reconcile(balances_read_at timestamptz)
RETURNS TABLE (symbol text, deposits numeric, withdrawals numeric, fees numeric, expected numeric, reported numeric,
               difference numeric, is_explained boolean, explanation text, open_amount numeric)
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
WITH moments AS MATERIALIZED (
  SELECT l.read_at AS lists_read_at, least(l.read_at, b.read_at, balances_read_at) AS moved_since
    FROM (SELECT (SELECT r.started_at FROM ledger.sync_runs r
                   WHERE r.job = 'transactions' AND r.outcome IN ('done', 'incomplete')
                   ORDER BY r.id DESC LIMIT 1) AS read_at) AS l
   CROSS JOIN (SELECT (SELECT r.started_at FROM ledger.sync_runs r
                        WHERE r.job = 'balances' AND r.outcome IN ('done', 'incomplete')
                          AND r.finished_at < balances_read_at
                        ORDER BY r.id DESC LIMIT 1) AS read_at) AS b
),
groups AS MATERIALIZED (
  SELECT t.stream, t.symbol, t.fee_symbol, t.state, t.is_final,
         t.detail_synced_at IS NULL OR t.next_check_at IS NOT NULL AS is_due,
         t.changed_at >= (SELECT m.moved_since FROM moments m)
           AND (t.first_seen_at < (SELECT m.moved_since FROM moments m)
             OR coalesce(t.occurred_at, t.changed_at) >= (SELECT m.moved_since - interval '1 day' FROM moments m))
           AS has_moved,
         count(*) AS transactions, sum(t.amount) AS amount, sum(t.fee) AS fee, max(t.fee) AS largest_fee
    FROM ledger.transactions t
   WHERE t.is_listed
   GROUP BY 1, 2, 3, 4, 5, 6, 7
),
judged AS (
  SELECT g.*, abs(g.amount) AS size,
         EXISTS (SELECT FROM ledger.final_states f WHERE f.is_success AND f.state = lower(btrim(g.state)))
           AS is_success
    FROM groups g
),
moved AS (
  SELECT j.symbol,
         sum(j.amount) FILTER (WHERE j.stream = 'deposit') AS deposits,
         sum(j.amount) FILTER (WHERE j.stream = 'withdraw') AS withdrawals,
         count(*) FILTER (WHERE j.fee <> 0 AND j.fee_symbol IS NULL) AS nameless_fees,
         sum(abs(j.fee)) FILTER (WHERE j.fee_symbol IS NULL) AS nameless_fee
    FROM judged j WHERE j.is_success GROUP BY j.symbol
),
paid AS (
  SELECT j.fee_symbol AS symbol, sum(j.fee) FILTER (WHERE j.is_success) AS fees,
         sum(abs(j.fee)) FILTER (WHERE j.has_moved AND j.is_final) AS moved_fee, max(j.largest_fee) AS largest_fee
    FROM judged j GROUP BY j.fee_symbol
),
touched AS (
  SELECT x.symbol,
         bool_or(j.symbol = x.symbol) AS is_moved,
         sum(j.transactions) FILTER (WHERE j.symbol = x.symbol AND NOT j.is_final) AS pending,
         sum(j.size) FILTER (WHERE j.symbol = x.symbol AND NOT j.is_final) AS pending_amount,
         sum(j.transactions) FILTER (WHERE j.is_success AND j.is_due) AS due,
         sum(j.transactions) FILTER (WHERE j.has_moved) AS moved,
         sum(j.size) FILTER (WHERE j.symbol = x.symbol AND j.is_final AND j.has_moved) AS moved_amount
    FROM judged j CROSS JOIN LATERAL (SELECT j.symbol UNION SELECT j.fee_symbol) AS x (symbol)
   WHERE x.symbol IS NOT NULL
   GROUP BY x.symbol
),
assets AS MATERIALIZED (
  SELECT b.slip44, b.symbol, b.contract_address FROM ledger.balances b
  UNION SELECT c.slip44, c.symbol, c.contract_address FROM ledger.coins c
),
feeless AS (
  SELECT j.stream, j.symbol, sum(j.transactions) AS transactions, sum(j.size) AS amount
    FROM judged j WHERE j.is_success AND j.is_due OR NOT j.is_final GROUP BY j.stream, j.symbol
),
seen AS (
  SELECT j.stream, j.symbol, j.fee_symbol,
         max(j.largest_fee) * CASE WHEN sum(j.transactions) < 20 THEN 10 ELSE 2 END AS fee_at_most
    FROM judged j WHERE j.fee_symbol IS NOT NULL AND j.largest_fee IS NOT NULL
   GROUP BY j.stream, j.symbol, j.fee_symbol
),
coming AS (
  SELECT y.fee_symbol AS symbol,
         sum(u.transactions) FILTER (WHERE y.fee_symbol <> u.symbol) AS of_others,
         sum(CASE WHEN s.fee_at_most IS NOT NULL THEN u.transactions * s.fee_at_most
                  WHEN p.largest_fee > 0 THEN u.transactions * p.largest_fee * 10
                  WHEN y.fee_symbol = u.symbol THEN u.amount
                  ELSE coalesce(m.deposits, 0) END) AS fee_at_most
    FROM feeless u
   CROSS JOIN LATERAL (
      SELECT s.fee_symbol FROM seen s WHERE s.stream = u.stream AND s.symbol IS NOT DISTINCT FROM u.symbol
      UNION SELECT u.symbol
             WHERE NOT EXISTS (SELECT FROM seen s WHERE s.stream = u.stream AND s.symbol = u.symbol)
      UNION SELECT h.symbol FROM assets a JOIN assets h ON h.slip44 = a.slip44 AND h.contract_address = ''
             WHERE u.stream = 'withdraw' AND a.symbol = u.symbol) AS y (fee_symbol)
    LEFT JOIN seen s ON s.stream = u.stream AND s.symbol = u.symbol AND s.fee_symbol = y.fee_symbol
    LEFT JOIN paid p ON p.symbol = y.fee_symbol
    LEFT JOIN moved m ON m.symbol = y.fee_symbol
   WHERE y.fee_symbol IS NOT NULL
   GROUP BY y.fee_symbol
),
refused AS (
  SELECT x.symbol, count(*) AS rejects, bool_or(x.amount IS NULL) AS is_unbounded, sum(x.amount) AS amount
    FROM (SELECT DISTINCT r.id, y.symbol,
                 CASE WHEN r.field IN ('amount', 'balance', 'fee') THEN NULL
                      WHEN r.field = 'feeSymbol' THEN abs(t.fee)
                      ELSE coalesce(abs(t.amount), abs(substring(r.payload FROM
                             '"(?:amount|balance)"\s*:\s*"?(-?\d{1,40}(?:\.\d{1,40})?)"?\s*[,}]')::numeric)) END AS amount
            FROM ledger.rejects r
            LEFT JOIN ledger.transactions t ON t.order_no = r.order_no
           CROSS JOIN LATERAL (
              SELECT t.symbol WHERE r.field IS DISTINCT FROM 'fee'
              UNION SELECT substring(r.payload FROM '"symbol"\s*:\s*"([^"\\]+)"') WHERE r.field IS DISTINCT FROM 'fee'
              UNION SELECT coalesce(t.fee_symbol, substring(r.payload FROM '"feeSymbol"\s*:\s*"([^"\\]+)"'), t.symbol)
                     WHERE r.field = 'fee') AS y (symbol)
           WHERE r.resolved_at IS NULL AND y.symbol IS NOT NULL
             AND r.source IN ('transaction-list', 'transaction-detail', 'balance-list')
             AND (r.field IS NULL OR r.field IN ('orderNo', 'symbol', 'amount', 'state', 'fee', 'feeSymbol', 'slip44',
                                                 'contractAddress', 'balance'))) AS x
   GROUP BY x.symbol
),
held AS (
  SELECT b.symbol, sum(b.balance) FILTER (WHERE b.is_listed) AS balance, bool_or(b.is_listed) AS is_listed,
         sum(abs(coalesce(CASE WHEN b.is_listed THEN b.balance END, 0) - coalesce(before.balance, 0)))
           FILTER (WHERE b.observed_at > m.moved_since) AS moved_amount
    FROM ledger.balances b
   CROSS JOIN moments m
   CROSS JOIN (SELECT (SELECT c.observed_at FROM ledger.balance_changes c ORDER BY c.id LIMIT 1) AS at) AS first
    LEFT JOIN LATERAL (
      SELECT c.balance FROM ledger.balance_changes c
       WHERE c.slip44 = b.slip44 AND c.symbol = b.symbol AND c.contract_address = b.contract_address
         AND c.observed_at <= greatest(m.moved_since, first.at)
       ORDER BY c.observed_at DESC, c.id DESC LIMIT 1) AS before ON b.observed_at > m.moved_since
   GROUP BY b.symbol
),
nameless AS (
  SELECT sum(j.transactions) AS transactions, sum(j.size) AS amount
    FROM judged j WHERE j.symbol IS NULL AND (j.is_success OR NOT j.is_final)
),
unwalked AS (
  SELECT string_agg(s.name, ', ' ORDER BY s.name) AS names FROM ledger.streams s
   WHERE s.name IN ('deposit', 'withdraw') AND NOT s.is_backed
),
compared AS (
  SELECT s.symbol,
         coalesce(m.deposits, 0) AS deposits,
         coalesce(m.withdrawals, 0) AS withdrawals,
         coalesce(p.fees, 0) AS fees,
         coalesce(m.deposits, 0) - coalesce(m.withdrawals, 0) - coalesce(p.fees, 0) AS expected,
         coalesce(h.balance, 0) AS reported,
         f.fee_at_most,
         balances_read_at IS NULL OR w.names IS NOT NULL AS is_unread,
         CASE WHEN balances_read_at IS NOT NULL AND w.names IS NULL AND NOT coalesce(u.is_unbounded, false)
           THEN coalesce(c.pending_amount, 0) + coalesce(f.fee_at_most, 0) + coalesce(c.moved_amount, 0)
              + coalesce(p.moved_fee, 0) + coalesce(h.moved_amount, 0) + coalesce(m.nameless_fee, 0)
              + coalesce(n.amount, 0) + coalesce(u.amount, 0)
              + CASE WHEN x.is_unheld THEN abs(coalesce(p.fees, 0)) ELSE 0 END END AS open_amount,
         concat_ws('; ',
           'not final yet: ' || c.pending,
           'detail, and fee with it, still to be fetched: ' || c.due,
           'transactions of other coins whose fee is not known yet: ' || nullif(f.of_others, 0),
           'fees that name no coin: ' || nullif(m.nameless_fees, 0),
           'transactions that name no coin: ' || nullif(n.transactions, 0),
           'open rejects: ' || u.rejects || CASE WHEN u.is_unbounded THEN ', of which an amount is not known' ELSE '' END,
           CASE WHEN x.is_unheld THEN 'fees name a coin that the balances do not' END,
           CASE WHEN balances_read_at IS NULL THEN 'the balances have not been read yet' END,
           'transactions that changed around the reading of the balances: ' || c.moved,
           CASE WHEN h.moved_amount <> 0 THEN 'the balance changed after the transaction lists were read' END,
           'lists not read to their end yet: ' || w.names) AS reasons
    FROM (SELECT symbol FROM touched UNION SELECT symbol FROM held WHERE is_listed) AS s
    LEFT JOIN moved m ON m.symbol = s.symbol
    LEFT JOIN paid p ON p.symbol = s.symbol
    LEFT JOIN touched c ON c.symbol = s.symbol
    LEFT JOIN coming f ON f.symbol = s.symbol
    LEFT JOIN refused u ON u.symbol = s.symbol
    LEFT JOIN held h ON h.symbol = s.symbol
   CROSS JOIN nameless n
   CROSS JOIN unwalked w
   CROSS JOIN LATERAL (SELECT coalesce(NOT h.is_listed, true) AND NOT coalesce(c.is_moved, false)) AS x (is_unheld)
),
weighed AS MATERIALIZED (
  SELECT c.*, d.difference, c.open_amount IS NULL OR abs(d.difference) <= c.open_amount AS is_payable
    FROM compared c CROSS JOIN LATERAL (SELECT c.reported - c.expected) AS d (difference)
)
SELECT w.symbol, w.deposits, w.withdrawals, w.fees, w.expected, w.reported, w.difference,
       w.difference = 0 OR w.is_payable AND s.standing IS NULL,
       CASE WHEN w.difference = 0 OR w.reasons = '' THEN s.standing
            WHEN NOT w.is_payable THEN 'more than what is open can pay for, ' || w.open_amount || ': ' || w.reasons
            ELSE coalesce(s.standing, w.reasons) END,
       w.open_amount
  FROM weighed w
 CROSS JOIN moments m
 CROSS JOIN LATERAL (
    SELECT CASE WHEN w.difference <> 0 AND w.is_payable AND NOT w.is_unread
             THEN ledger.standing_difference(w.symbol, NULL, NULL, w.difference, w.fee_at_most, balances_read_at,
                                             m.lists_read_at) END) AS s (standing)
$$;
--> statement-breakpoint
CREATE OR REPLACE VIEW ledger.reconciliation AS
SELECT r.symbol, r.deposits, r.withdrawals, r.fees, r.expected, r.reported, r.difference, r.is_explained, r.explanation,
       r.open_amount
  FROM (SELECT ledger.balances_read_at() AS read_at) AS last
 CROSS JOIN LATERAL ledger.reconcile(last.read_at) AS r;
--> statement-breakpoint
DROP FUNCTION ledger.reconcile_by_any_reason(timestamptz);
-- Only rows of symbols that name several assets are looked at: the others are as the coin is. A withdrawal is of the
-- chain that takes its fee in its own main coin.
CREATE FUNCTION ledger.reconcile_assets(balances_read_at timestamptz)
RETURNS TABLE (slip44 integer, symbol text, contract_address text, deposits numeric, withdrawals numeric, fees numeric,
               expected numeric, reported numeric, difference numeric, is_explained boolean, explanation text,
               open_amount numeric, unassigned numeric)
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
WITH coin AS MATERIALIZED (SELECT * FROM ledger.reconcile(balances_read_at)),
asset AS MATERIALIZED (
  SELECT a.*, count(*) OVER (PARTITION BY a.symbol) > 1 AS is_shared,
         count(*) OVER (PARTITION BY a.symbol, a.slip44) = 1 AS is_alone
    FROM (SELECT b.slip44, b.symbol, b.contract_address FROM ledger.balances b
          UNION SELECT c.slip44, c.symbol, c.contract_address FROM ledger.coins c) AS a
),
main AS (
  SELECT a.symbol, min(a.slip44) AS slip44 FROM asset a WHERE a.contract_address = '' GROUP BY a.symbol HAVING count(*) = 1
),
home AS (
  SELECT lower(a.address) AS address, min(a.slip44) AS slip44
    FROM ledger.addresses a
   WHERE EXISTS (SELECT FROM asset WHERE is_shared)
   GROUP BY lower(a.address) HAVING min(a.slip44) = max(a.slip44)
),
received AS (
  SELECT lower(t.to_address) AS address, t.symbol, t.state, sum(t.amount) AS amount
    FROM ledger.transactions t
   WHERE t.is_listed AND t.stream = 'deposit' AND t.symbol IN (SELECT a.symbol FROM asset a WHERE a.is_shared)
   GROUP BY lower(t.to_address), t.symbol, t.state
),
sent AS (
  SELECT t.fee_symbol, t.symbol, t.state, sum(t.amount) AS amount
    FROM ledger.transactions t
   WHERE t.is_listed AND t.stream = 'withdraw' AND t.symbol IN (SELECT a.symbol FROM asset a WHERE a.is_shared)
   GROUP BY t.fee_symbol, t.symbol, t.state
),
part AS MATERIALIZED (
  SELECT r.symbol, a.slip44, sum(r.amount_in) AS deposits, sum(r.amount_out) AS withdrawals
    FROM (SELECT d.symbol, h.slip44, d.state, d.amount AS amount_in, 0 AS amount_out
            FROM received d LEFT JOIN home h ON h.address = d.address
          UNION ALL
          SELECT w.symbol, m.slip44, w.state, 0, w.amount FROM sent w LEFT JOIN main m ON m.symbol = w.fee_symbol) AS r
    LEFT JOIN asset a ON a.symbol = r.symbol AND a.slip44 = r.slip44 AND a.is_alone
   WHERE lower(btrim(r.state)) IN (SELECT f.state FROM ledger.final_states f WHERE f.is_success)
   GROUP BY r.symbol, a.slip44
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
    LEFT JOIN ledger.balances b ON b.is_listed AND b.slip44 = a.slip44 AND b.symbol = a.symbol
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
                    (SELECT r.started_at FROM ledger.sync_runs r
                      WHERE r.job = 'transactions' AND r.outcome IN ('done', 'incomplete')
                      ORDER BY r.id DESC LIMIT 1)) END) AS s (standing)
$$;
--> statement-breakpoint
CREATE VIEW ledger.asset_reconciliation AS
SELECT r.slip44, r.symbol, r.contract_address, r.deposits, r.withdrawals, r.fees, r.expected, r.reported, r.difference,
       r.is_explained, r.explanation, r.open_amount, r.unassigned
  FROM (SELECT ledger.balances_read_at() AS read_at) AS last
 CROSS JOIN LATERAL ledger.reconcile_assets(last.read_at) AS r;
--> statement-breakpoint
COMMENT ON FUNCTION ledger.reconcile IS 'The rows of the view reconciliation for balances read at a given time; null: never read';
--> statement-breakpoint
COMMENT ON FUNCTION ledger.reconcile_assets IS 'The rows of the view asset_reconciliation for balances read at a given time; null: never read';
--> statement-breakpoint
COMMENT ON VIEW ledger.asset_reconciliation IS 'Whether the listed transactions whose chain is known add up to the balance of each asset';
--> statement-breakpoint
COMMENT ON COLUMN ledger.reconciliation.is_explained IS 'True when difference is 0, or no more than open_amount and not a difference that stands while what is open comes and goes';
--> statement-breakpoint
COMMENT ON COLUMN ledger.reconciliation.explanation IS 'What is open, with the numbers of transactions or values, or why it does not explain the difference; null when difference is 0 or nothing is open';
--> statement-breakpoint
COMMENT ON COLUMN ledger.reconciliation.open_amount IS 'The most that open things of this coin could move: transactions not final, fees not known yet, rejects, what moved around the reading of the balances; null when that has no known bound';
--> statement-breakpoint
COMMENT ON COLUMN ledger.asset_reconciliation.slip44 IS 'slip44 code of the asset''s chain';
--> statement-breakpoint
COMMENT ON COLUMN ledger.asset_reconciliation.symbol IS 'Coin symbol code';
--> statement-breakpoint
COMMENT ON COLUMN ledger.asset_reconciliation.contract_address IS 'Contract address of a token; empty for a main-chain coin';
--> statement-breakpoint
COMMENT ON COLUMN ledger.asset_reconciliation.deposits IS 'Sum of listed deposits in a success state to addresses that the ledger has on this chain alone; all of the coin where its symbol names one asset';
--> statement-breakpoint
COMMENT ON COLUMN ledger.asset_reconciliation.withdrawals IS 'Sum of listed withdrawals in a success state whose fee is in the main coin of this chain alone; all of the coin where its symbol names one asset';
--> statement-breakpoint
COMMENT ON COLUMN ledger.asset_reconciliation.fees IS 'Sum of the fees paid in this asset, where it is the main coin of one chain alone or its symbol names one asset';
--> statement-breakpoint
COMMENT ON COLUMN ledger.asset_reconciliation.expected IS 'deposits less withdrawals less fees';
--> statement-breakpoint
COMMENT ON COLUMN ledger.asset_reconciliation.reported IS 'The asset''s listed balance; 0 when the service lists none';
--> statement-breakpoint
COMMENT ON COLUMN ledger.asset_reconciliation.difference IS 'reported less expected';
--> statement-breakpoint
COMMENT ON COLUMN ledger.asset_reconciliation.is_explained IS 'True when difference is 0, or no more than what is open of the coin and its rows of an unknown chain could make up';
--> statement-breakpoint
COMMENT ON COLUMN ledger.asset_reconciliation.explanation IS 'What may explain it, or why that does not; null when difference is 0 or nothing is open';
--> statement-breakpoint
COMMENT ON COLUMN ledger.asset_reconciliation.open_amount IS 'The most that open things of the coin could move, over all chains; null when that has no known bound';
--> statement-breakpoint
COMMENT ON COLUMN ledger.asset_reconciliation.unassigned IS 'Deposits less withdrawals less fees of the coin whose chain is not known; the same for each asset of the symbol';
--> statement-breakpoint
-- Several rejects of one order and field become one: the latest stays, counts for all, and bears the new fingerprint.
WITH ranked AS (
  SELECT r.id, row_number() OVER cause AS nth, min(r.first_seen_at) OVER whole AS first_seen_at,
         sum(r.times) OVER whole AS times,
         encode(sha256(convert_to(concat(r.source, chr(31), r.order_no, chr(31), r.field), 'UTF8')), 'hex') AS fingerprint
    FROM ledger.rejects r
   WHERE r.order_no IS NOT NULL
  WINDOW whole AS (PARTITION BY r.source, r.order_no, r.field),
         cause AS (PARTITION BY r.source, r.order_no, r.field ORDER BY r.resolved_at IS NULL DESC, r.last_seen_at DESC, r.id DESC)
)
UPDATE ledger.rejects r
   SET fingerprint = CASE WHEN k.nth = 1 THEN k.fingerprint ELSE r.fingerprint END,
       first_seen_at = CASE WHEN k.nth = 1 THEN k.first_seen_at ELSE r.first_seen_at END,
       times = CASE WHEN k.nth = 1 THEN least(k.times, 2147483647)::integer ELSE r.times END,
       resolved_at = CASE WHEN k.nth = 1 THEN r.resolved_at ELSE coalesce(r.resolved_at, now()) END
  FROM ranked k
 WHERE k.id = r.id;
--> statement-breakpoint
-- Rows without an order number: those that name the same things in the same field are one cause.
WITH ranked AS (
  SELECT r.id, row_number() OVER (
           PARTITION BY r.source, r.field, r.reason,
                        substring(r.payload FROM '"requestId"\s*:\s*("[^"\\]+")'),
                        substring(r.payload FROM '"symbol"\s*:\s*("[^"\\]+")'),
                        substring(r.payload FROM '"slip44"\s*:\s*"?(\d+)'),
                        substring(r.payload FROM '"contractAddress"\s*:\s*("[^"\\]+")'),
                        substring(r.payload FROM '"txHash"\s*:\s*("[^"\\]+")'),
                        substring(r.payload FROM '"toAddress"\s*:\s*("[^"\\]+")'),
                        substring(r.payload FROM '"amount"\s*:\s*"?([^",}]+)')
           ORDER BY r.last_seen_at DESC, r.id DESC) AS nth
    FROM ledger.rejects r
   WHERE r.order_no IS NULL AND r.resolved_at IS NULL AND r.payload LIKE '{%"%' AND r.source <> 'address-list'
)
UPDATE ledger.rejects r SET resolved_at = now() FROM ranked k WHERE k.id = r.id AND k.nth > 1;
--> statement-breakpoint
UPDATE ledger.rejects r SET resolved_at = now()
  FROM ledger.transactions t
 WHERE r.resolved_at IS NULL AND t.order_no = r.order_no AND t.observed_at > r.last_seen_at
   AND r.reason NOT LIKE '%(replaced)%'
   AND CASE r.field
         WHEN 'requestId' THEN t.request_id WHEN 'symbol' THEN t.symbol WHEN 'txHash' THEN t.tx_hash
         WHEN 'fromAddress' THEN t.from_address WHEN 'toAddress' THEN t.to_address
         WHEN 'amount' THEN t.amount::text WHEN 'type' THEN t.type WHEN 'state' THEN t.state
         WHEN 'confirmNum' THEN t.confirm_num::text WHEN 'fee' THEN t.fee::text
         WHEN 'feeSymbol' THEN t.fee_symbol WHEN 'time' THEN t.occurred_at::text
       END IS NOT NULL;
--> statement-breakpoint
COMMENT ON COLUMN ledger.rejects.fingerprint IS 'Tells causes apart: a hash of source, order and field; of the fields that last, or of the payload, where the row has no order number';
--> statement-breakpoint
COMMENT ON COLUMN ledger.rejects.payload IS 'The row as the service sent it when it was last counted, cut to 64 KiB';
--> statement-breakpoint
COMMENT ON COLUMN ledger.rejects.resolved_at IS 'When a later answer brought the value, or decoding again succeeded; null while the reject is open';
--> statement-breakpoint
COMMENT ON TABLE ledger.rejects IS 'What could not be decoded, one row per cause';
