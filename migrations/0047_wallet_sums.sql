-- Sums, chains and reconciliation of each wallet apart: what a wallet is told follows from its own rows alone.
CREATE OR REPLACE TRIGGER transactions_moved AFTER UPDATE ON ledger.transactions
  FOR EACH ROW WHEN (OLD.wallet <> NEW.wallet OR OLD.is_listed <> NEW.is_listed OR OLD.stream <> NEW.stream
                  OR OLD.occurred_at IS DISTINCT FROM NEW.occurred_at
                  OR OLD.list_word IS DISTINCT FROM NEW.list_word
                  OR OLD.also_listed_in IS DISTINCT FROM NEW.also_listed_in)
  EXECUTE FUNCTION ledger.count_moved();
--> statement-breakpoint
CREATE OR REPLACE VIEW ledger.assets AS
SELECT b.slip44, b.symbol, b.contract_address, b.wallet FROM ledger.balances b
UNION
SELECT c.slip44, c.symbol, c.contract_address, c.wallet FROM ledger.coins c;
--> statement-breakpoint
CREATE OR REPLACE VIEW ledger.known_chains AS
SELECT a.symbol, NULL::text AS fee_symbol, min(a.slip44) AS slip44, a.wallet
  FROM ledger.assets a GROUP BY a.wallet, a.symbol HAVING count(*) = 1
UNION ALL
SELECT a.symbol, m.symbol, a.slip44, a.wallet
  FROM (SELECT x.wallet, x.symbol, min(x.slip44) AS slip44 FROM ledger.assets x
         WHERE x.contract_address = '' GROUP BY x.wallet, x.symbol HAVING count(*) = 1) AS m
  JOIN (SELECT y.wallet, y.symbol, y.slip44 FROM ledger.assets y
         WHERE (y.wallet, y.symbol) IN (SELECT z.wallet, z.symbol FROM ledger.assets z
                                         GROUP BY z.wallet, z.symbol HAVING count(*) > 1)
         GROUP BY y.wallet, y.symbol, y.slip44 HAVING count(*) = 1) AS a ON a.wallet = m.wallet AND a.slip44 = m.slip44;
--> statement-breakpoint
CREATE OR REPLACE VIEW ledger.daily_totals AS
SELECT s.day, s.stream, s.symbol, k.slip44, s.state, s.is_success, sum(s.transactions)::bigint AS transactions,
       CASE WHEN sum(s.amounts) > 0 THEN sum(s.amount) END AS amount,
       (sum(s.transactions) - sum(s.amounts))::bigint AS unknown_amounts, s.wallet
  FROM engine.daily_sums_now s
  LEFT JOIN ledger.known_chains k
    ON k.wallet = s.wallet AND k.symbol = s.symbol
   AND (k.fee_symbol IS NULL OR s.stream = 'withdraw' AND k.fee_symbol = s.fee_symbol)
 GROUP BY s.wallet, s.day, s.stream, s.symbol, k.slip44, s.state, s.is_success
HAVING sum(s.transactions) <> 0;
--> statement-breakpoint
CREATE OR REPLACE VIEW ledger.daily_flows AS
SELECT g.day, g.symbol, g.stream AS type, g.state, sum(g.transactions)::bigint AS transactions,
       CASE WHEN sum(g.amounts) > 0 THEN sum(g.amount) END AS amount,
       coalesce(jsonb_object_agg(coalesce(g.fee_symbol, ''), g.fee) FILTER (WHERE g.fees > 0), '{}') AS fees,
       g.slip44, g.stream, g.is_success, g.wallet
  FROM (SELECT s.wallet, s.day, s.symbol, s.stream, s.state, s.is_success, s.fee_symbol, k.slip44,
               sum(s.transactions) AS transactions, sum(s.amounts) AS amounts, sum(s.amount) AS amount,
               sum(s.fees) AS fees, sum(s.fee) AS fee
          FROM engine.daily_sums_now s
          LEFT JOIN ledger.known_chains k
            ON k.wallet = s.wallet AND k.symbol = s.symbol
           AND (k.fee_symbol IS NULL OR s.stream = 'withdraw' AND k.fee_symbol = s.fee_symbol)
         GROUP BY s.wallet, s.day, s.symbol, s.stream, s.state, s.is_success, s.fee_symbol, k.slip44
        HAVING sum(s.transactions) <> 0) AS g
 GROUP BY g.wallet, g.day, g.symbol, g.stream, g.state, g.slip44, g.is_success;
--> statement-breakpoint
CREATE OR REPLACE VIEW ledger.daily_fees AS
SELECT s.day, s.symbol, s.stream, s.state, s.is_success, s.fee_symbol, sum(s.fee) AS fee, s.wallet
  FROM engine.daily_sums_now s
 GROUP BY s.wallet, s.day, s.symbol, s.stream, s.state, s.is_success, s.fee_symbol
HAVING sum(s.fees) <> 0;
--> statement-breakpoint
CREATE OR REPLACE VIEW ledger.chains AS
SELECT k.slip44, n.chain_name AS name, coalesce(n.chain_symbol, m.symbol) AS symbol, k.wallet
  FROM (SELECT b.wallet, b.slip44 FROM ledger.balances b
        UNION SELECT c.wallet, c.slip44 FROM ledger.coins c
        UNION SELECT p.wallet, p.slip44 FROM ledger.pools p) AS k
  LEFT JOIN LATERAL (
    SELECT b.chain_name, b.chain_symbol
      FROM ledger.balances b
     WHERE b.wallet = k.wallet AND b.slip44 = k.slip44 AND coalesce(b.chain_name, b.chain_symbol) IS NOT NULL
     ORDER BY b.is_listed DESC, b.chain_name IS NULL, b.changed_at DESC, b.symbol, b.contract_address LIMIT 1) AS n ON true
  LEFT JOIN LATERAL (
    SELECT min(a.symbol) AS symbol
      FROM ledger.assets a WHERE a.wallet = k.wallet AND a.slip44 = k.slip44 AND a.contract_address = ''
    HAVING count(*) = 1) AS m ON true;
--> statement-breakpoint
CREATE OR REPLACE VIEW ledger.pending_transactions AS
SELECT t.order_no, t.stream, t.request_id, t.symbol, t.tx_hash, t.from_address, t.to_address, t.amount, t.type, t.state,
       t.confirm_num, t.fee, t.fee_symbol, t.occurred_at, t.is_final, t.is_listed, t.detail_synced_at,
       (SELECT c.due_at FROM engine.detail_checks c WHERE c.wallet = t.wallet AND c.order_no = t.order_no) AS next_check_at,
       t.first_seen_at, t.changed_at, t.observed_at, t.observation, t.extra,
       now() - coalesce(t.occurred_at, t.first_seen_at) AS age, t.is_backfilled, t.is_success, t.wallet
  FROM ledger.transactions t
 WHERE NOT t.is_final AND t.is_listed;
--> statement-breakpoint
CREATE OR REPLACE VIEW ledger.waiting_details AS
SELECT c.order_no, c.is_final, greatest(c.due_at, c.claimed_until) AS due_at, c.refusals, false AS is_unscheduled, c.wallet
  FROM engine.detail_checks c
UNION ALL
SELECT t.order_no, true, t.first_seen_at, 0::smallint, true, t.wallet
  FROM ledger.transactions t
 WHERE t.is_final AND t.is_backfilled AND t.is_listed AND t.detail_synced_at IS NULL
   AND NOT EXISTS (SELECT FROM engine.detail_checks c WHERE c.wallet = t.wallet AND c.order_no = t.order_no);
--> statement-breakpoint
-- One step of the index per coin and asset, so that the number of rows does not matter.
CREATE OR REPLACE VIEW ledger.unexplained_differences AS
SELECT l.symbol, l.slip44, l.contract_address, l.difference AS amount, l.unexplained_since AS since, l.explanation, w.wallet
  FROM engine.wallet_names w
 CROSS JOIN LATERAL (
    WITH RECURSIVE latest AS (
      (SELECT r.symbol, r.slip44, r.contract_address, r.difference, r.is_explained, r.unexplained_since, r.explanation
         FROM ledger.reconciliation_runs r
        WHERE r.wallet = w.wallet
        ORDER BY r.symbol, coalesce(r.slip44, -1), coalesce(r.contract_address, ''), r.id DESC LIMIT 1)
      UNION ALL
      SELECT n.*
        FROM latest l
       CROSS JOIN LATERAL (
          SELECT r.symbol, r.slip44, r.contract_address, r.difference, r.is_explained, r.unexplained_since, r.explanation
            FROM ledger.reconciliation_runs r
           WHERE r.wallet = w.wallet
             AND (r.symbol, coalesce(r.slip44, -1), coalesce(r.contract_address, ''))
               > (l.symbol, coalesce(l.slip44, -1), coalesce(l.contract_address, ''))
           ORDER BY r.symbol, coalesce(r.slip44, -1), coalesce(r.contract_address, ''), r.id DESC LIMIT 1) AS n
    )
    SELECT * FROM latest) AS l
 WHERE NOT l.is_explained;
--> statement-breakpoint
CREATE FUNCTION engine.state_transitions_of(of_wallet text)
RETURNS TABLE (type text, from_state text, to_state text, transactions bigint, first_seen_at timestamptz,
               last_seen_at timestamptz)
LANGUAGE sql STABLE
SET work_mem = '32MB'
AS $$
SELECT t.type, c.old_value, c.new_value, count(*), min(c.observed_at), max(c.observed_at)
  FROM ledger.transaction_changes c
  LEFT JOIN ledger.transactions t ON t.wallet = c.wallet AND t.order_no = c.order_no
 WHERE c.wallet = of_wallet AND c.field = 'state'
 GROUP BY t.type, c.old_value, c.new_value
$$;
--> statement-breakpoint
COMMENT ON FUNCTION engine.state_transitions_of IS 'Rows of ledger.state_transitions for one wallet';
--> statement-breakpoint
CREATE OR REPLACE FUNCTION ledger.count_state_transitions()
RETURNS TABLE (type text, from_state text, to_state text, transactions bigint, first_seen_at timestamptz,
               last_seen_at timestamptz)
LANGUAGE sql STABLE
SET work_mem = '32MB'
AS $$
SELECT t.type, c.old_value, c.new_value, count(*), min(c.observed_at), max(c.observed_at)
  FROM own.transaction_changes c
  LEFT JOIN own.transactions t ON t.order_no = c.order_no
 WHERE c.field = 'state'
 GROUP BY t.type, c.old_value, c.new_value
$$;
--> statement-breakpoint
CREATE OR REPLACE VIEW ledger.state_transitions AS
SELECT g.type, g.from_state, g.to_state, g.transactions, g.first_seen_at, g.last_seen_at,
       EXISTS (SELECT FROM ledger.final_states f WHERE f.wallet = w.wallet AND f.state = lower(btrim(g.from_state)))
         AS is_final_setting,
       w.wallet
  FROM engine.wallet_names w CROSS JOIN LATERAL engine.state_transitions_of(w.wallet) AS g;
--> statement-breakpoint
-- The functions below read the view of waiting details as one wallet sees it.
SELECT engine.make_own_views();
--> statement-breakpoint
CREATE OR REPLACE FUNCTION ledger.balances_read_at()
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$
SELECT greatest((SELECT s.started_at FROM own.sync_runs s
                  WHERE s.job = 'balances' AND s.outcome IN ('done', 'incomplete') ORDER BY s.id DESC LIMIT 1),
                (SELECT max(b.observed_at) FROM own.balances b))
$function$;
--> statement-breakpoint
-- The wallet of the changed rows is compared as an expression, here and in ledger.reconcile: so it is checked on the rows
-- that the index of changed_at finds, and no index by wallet is read, which names the wallet's whole history. Readers
-- have no right to name engine.wallet().
CREATE OR REPLACE FUNCTION ledger.is_paid_exactly(of_symbol text, of_amount numeric, tolerance numeric, moved_since timestamp with time zone)
 RETURNS boolean
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$
WITH candidates AS MATERIALIZED (
  SELECT t.stream, t.state, t.is_final,
         CASE WHEN t.symbol = of_symbol OR t.symbol IS NULL THEN abs(t.amount) END AS amount,
         CASE WHEN t.fee_symbol = of_symbol THEN abs(t.fee) END AS fee
    FROM (SELECT o.stream, o.state, o.is_final, o.symbol, o.amount, o.fee_symbol, o.fee
            FROM own.transactions o WHERE NOT o.is_final AND o.is_listed
          UNION ALL
          SELECT c.stream, c.state, c.is_final, c.symbol, c.amount, c.fee_symbol, c.fee
            FROM ledger.transactions c
           WHERE c.wallet || '' = coalesce(nullif(current_setting('ledger.wallet', true), ''), 'main')
             AND c.is_final AND c.is_listed AND c.changed_at >= moved_since) AS t
   WHERE t.symbol = of_symbol OR t.symbol IS NULL OR t.fee_symbol = of_symbol
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
$function$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION ledger.standing_difference(of_symbol text, of_slip44 integer, of_contract_address text, difference numeric, fee_bound numeric, balances_read_at timestamp with time zone, lists_read_at timestamp with time zone)
 RETURNS text
 LANGUAGE plpgsql
 STABLE PARALLEL SAFE
AS $function$
DECLARE
  last record;
  since timestamptz;
  tolerance numeric;
BEGIN
  SELECT r.difference, r.is_explained, r.observed_at INTO last
    FROM own.reconciliation_runs r
   WHERE r.symbol = of_symbol AND coalesce(r.slip44, -1) = coalesce(of_slip44, -1)
     AND coalesce(r.contract_address, '') = coalesce(of_contract_address, '') AND r.observed_at < balances_read_at
   ORDER BY r.id DESC LIMIT 1;
  IF NOT FOUND OR last.difference = 0 THEN
    RETURN NULL;
  END IF;
  SELECT min(h.observed_at) FILTER (WHERE h.difference = standing_difference.difference) INTO since
    FROM (SELECT r.*, bool_or(r.difference = 0) OVER (ORDER BY r.id DESC) AS is_before_zero
            FROM (SELECT n.id, n.difference, n.observed_at
                    FROM own.reconciliation_runs n
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
    tolerance := CASE WHEN EXISTS (SELECT FROM own.waiting_details w JOIN own.transactions t USING (order_no)
                                    WHERE t.is_listed AND t.first_seen_at <= since
                                      AND (t.stream = 'withdraw' OR t.symbol = of_symbol))
                   THEN coalesce(fee_bound, 0) ELSE 0 END;
    IF abs(difference) <= tolerance OR ledger.is_paid_exactly(
         of_symbol, difference, tolerance, least(since, balances_read_at - interval '15 minutes')) THEN
      RETURN NULL;
    END IF;
  END IF;
  IF last.difference <> difference THEN
    RETURN 'was unexplained before, when it was ' || last.difference || ', and no later movement explains it';
  END IF;
  RETURN 'has been the same since ' || to_char(coalesce(since, last.observed_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS')
      || ' UTC, and no open or later movement explains it';
END
$function$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION ledger.reconcile(balances_read_at timestamp with time zone)
 RETURNS TABLE(symbol text, deposits numeric, withdrawals numeric, fees numeric, expected numeric, reported numeric, difference numeric, is_explained boolean, explanation text, open_amount numeric)
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$
WITH moments AS MATERIALIZED (
  SELECT l.read_at AS lists_read_at, least(l.read_at, b.read_at, balances_read_at) AS moved_since
    FROM (SELECT (SELECT r.started_at FROM own.sync_runs r
                   WHERE r.job = 'transactions' AND r.outcome IN ('done', 'incomplete')
                   ORDER BY r.id DESC LIMIT 1) AS read_at) AS l
   CROSS JOIN (SELECT (SELECT r.started_at FROM own.sync_runs r
                        WHERE r.job = 'balances' AND r.outcome IN ('done', 'incomplete')
                          AND r.finished_at < balances_read_at
                        ORDER BY r.id DESC LIMIT 1) AS read_at) AS b
),
moving AS MATERIALIZED (
  SELECT t.stream, t.symbol, t.fee_symbol, t.state, t.is_final, t.detail_synced_at, t.changed_at, t.amount, t.fee,
         (t.changed_at >= m.moved_since
           AND (t.first_seen_at < m.moved_since
             OR coalesce(t.occurred_at, t.changed_at) >= m.moved_since - interval '1 day')) IS TRUE AS has_moved
    FROM own.transactions t CROSS JOIN moments m
   WHERE NOT t.is_final AND t.is_listed
  UNION ALL
  SELECT t.stream, t.symbol, t.fee_symbol, t.state, t.is_final, t.detail_synced_at, t.changed_at, t.amount, t.fee, true
    FROM ledger.transactions t WHERE t.wallet || '' = coalesce(nullif(current_setting('ledger.wallet', true), ''), 'main')
     AND t.is_final AND t.is_listed AND t.changed_at >= (SELECT m.moved_since FROM moments m)
     AND (t.first_seen_at < (SELECT m.moved_since FROM moments m)
       OR coalesce(t.occurred_at, t.changed_at) >= (SELECT m.moved_since - interval '1 day' FROM moments m))
  UNION ALL
  SELECT t.stream, t.symbol, t.fee_symbol, t.state, t.is_final, t.detail_synced_at, t.changed_at, t.amount, t.fee, false
    FROM own.waiting_details w JOIN own.transactions t ON t.order_no = w.order_no
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
            FROM own.totals t
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
),
judged AS (
  SELECT g.*, abs(g.amount) AS size,
         EXISTS (SELECT FROM own.final_states f WHERE f.is_success AND f.state = lower(btrim(g.state)))
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
  SELECT b.slip44, b.symbol, b.contract_address FROM own.balances b
  UNION SELECT c.slip44, c.symbol, c.contract_address FROM own.coins c
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
            FROM own.rejects r
            LEFT JOIN own.transactions t ON t.order_no = r.order_no
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
    FROM own.balances b
   CROSS JOIN moments m
   CROSS JOIN (SELECT (SELECT c.observed_at FROM own.balance_changes c ORDER BY c.id LIMIT 1) AS at) AS first
    LEFT JOIN LATERAL (
      SELECT c.balance FROM own.balance_changes c
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
  SELECT string_agg(s.name, ', ' ORDER BY s.name) AS names FROM own.streams s
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
            WHEN NOT w.is_payable THEN 'more than the open amounts can explain, ' || w.open_amount || ': ' || w.reasons
            ELSE coalesce(s.standing, w.reasons) END,
       w.open_amount
  FROM weighed w
 CROSS JOIN moments m
 CROSS JOIN LATERAL (
    SELECT CASE WHEN w.difference <> 0 AND w.is_payable AND NOT w.is_unread
             THEN ledger.standing_difference(w.symbol, NULL, NULL, w.difference, w.fee_at_most, balances_read_at,
                                             m.lists_read_at) END) AS s (standing)
$function$;
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
home AS (
  SELECT a.address_key AS address, min(a.slip44) AS slip44
    FROM own.addresses a
   WHERE EXISTS (SELECT FROM asset WHERE is_shared)
   GROUP BY a.address_key HAVING min(a.slip44) = max(a.slip44)
),
received AS (
  SELECT ledger.address_key(t.to_address) AS address, t.symbol, t.state, sum(t.amount) AS amount
    FROM own.transactions t
   WHERE t.is_listed AND t.stream = 'deposit' AND t.symbol IN (SELECT a.symbol FROM asset a WHERE a.is_shared)
   GROUP BY ledger.address_key(t.to_address), t.symbol, t.state
),
sent AS (
  SELECT t.fee_symbol, t.symbol, t.state, sum(t.amount) AS amount
    FROM own.totals t
   WHERE t.stream = 'withdraw' AND t.symbol IN (SELECT a.symbol FROM asset a WHERE a.is_shared)
   GROUP BY t.fee_symbol, t.symbol, t.state
),
part AS MATERIALIZED (
  SELECT r.symbol, a.slip44, sum(r.amount_in) AS deposits, sum(r.amount_out) AS withdrawals
    FROM (SELECT d.symbol, h.slip44, d.state, d.amount AS amount_in, 0 AS amount_out
            FROM received d LEFT JOIN home h ON h.address = d.address
          UNION ALL
          SELECT w.symbol, m.slip44, w.state, 0, w.amount FROM sent w LEFT JOIN main m ON m.symbol = w.fee_symbol) AS r
    LEFT JOIN asset a ON a.symbol = r.symbol AND a.slip44 = r.slip44 AND a.is_alone
   WHERE lower(btrim(r.state)) IN (SELECT f.state FROM own.final_states f WHERE f.is_success)
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
--> statement-breakpoint
-- The judgement of one wallet reads the views of schema own; these functions make each wallet the session's in turn.
CREATE FUNCTION engine.reconciliation_of(of_wallet text)
RETURNS TABLE (symbol text, deposits numeric, withdrawals numeric, fees numeric, expected numeric, reported numeric,
               difference numeric, is_explained boolean, explanation text, open_amount numeric)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  session_wallet text := current_setting('ledger.wallet', true);
BEGIN
  PERFORM set_config('ledger.wallet', of_wallet, true);
  RETURN QUERY SELECT r.* FROM ledger.reconcile(ledger.balances_read_at()) r;
  PERFORM set_config('ledger.wallet', session_wallet, true);
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION engine.reconciliation_of IS 'Rows of ledger.reconciliation for one wallet';
--> statement-breakpoint
CREATE OR REPLACE VIEW ledger.reconciliation AS
SELECT r.symbol, r.deposits, r.withdrawals, r.fees, r.expected, r.reported, r.difference, r.is_explained,
       r.explanation, r.open_amount, w.wallet
  FROM engine.wallet_names w CROSS JOIN LATERAL engine.reconciliation_of(w.wallet) AS r;
--> statement-breakpoint
CREATE FUNCTION engine.asset_reconciliation_of(of_wallet text)
RETURNS TABLE (slip44 integer, symbol text, contract_address text, deposits numeric, withdrawals numeric, fees numeric,
               expected numeric, reported numeric, difference numeric, is_explained boolean, explanation text,
               open_amount numeric, unassigned numeric)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  session_wallet text := current_setting('ledger.wallet', true);
BEGIN
  PERFORM set_config('ledger.wallet', of_wallet, true);
  RETURN QUERY SELECT r.* FROM ledger.reconcile_assets(ledger.balances_read_at()) r;
  PERFORM set_config('ledger.wallet', session_wallet, true);
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION engine.asset_reconciliation_of IS 'Rows of ledger.asset_reconciliation for one wallet';
--> statement-breakpoint
CREATE OR REPLACE VIEW ledger.asset_reconciliation AS
SELECT r.slip44, r.symbol, r.contract_address, r.deposits, r.withdrawals, r.fees, r.expected, r.reported, r.difference,
       r.is_explained, r.explanation, r.open_amount, r.unassigned, w.wallet
  FROM engine.wallet_names w CROSS JOIN LATERAL engine.asset_reconciliation_of(w.wallet) AS r;
--> statement-breakpoint
COMMENT ON COLUMN ledger.assets.wallet IS 'Wallet that the row belongs to, one of WALLETS; main where only one is set';
COMMENT ON COLUMN ledger.known_chains.wallet IS 'Wallet that the row belongs to, one of WALLETS; main where only one is set';
COMMENT ON COLUMN ledger.daily_totals.wallet IS 'Wallet that the row belongs to, one of WALLETS; main where only one is set';
COMMENT ON COLUMN ledger.daily_flows.wallet IS 'Wallet that the row belongs to, one of WALLETS; main where only one is set';
COMMENT ON COLUMN ledger.daily_fees.wallet IS 'Wallet that the row belongs to, one of WALLETS; main where only one is set';
COMMENT ON COLUMN ledger.chains.wallet IS 'Wallet that the row belongs to, one of WALLETS; main where only one is set';
COMMENT ON COLUMN ledger.pending_transactions.wallet IS 'Wallet that the row belongs to, one of WALLETS; main where only one is set';
COMMENT ON COLUMN ledger.waiting_details.wallet IS 'Wallet that the row belongs to, one of WALLETS; main where only one is set';
COMMENT ON COLUMN ledger.unexplained_differences.wallet IS 'Wallet that the row belongs to, one of WALLETS; main where only one is set';
COMMENT ON COLUMN ledger.state_transitions.wallet IS 'Wallet that the row belongs to, one of WALLETS; main where only one is set';
COMMENT ON COLUMN ledger.reconciliation.wallet IS 'Wallet that the row belongs to, one of WALLETS; main where only one is set';
COMMENT ON COLUMN ledger.asset_reconciliation.wallet IS 'Wallet that the row belongs to, one of WALLETS; main where only one is set';
--> statement-breakpoint
SELECT engine.make_own_views();
--> statement-breakpoint
SELECT engine.settle_rights();
