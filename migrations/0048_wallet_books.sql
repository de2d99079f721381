-- Postings, statements, closing and history of each wallet; transfers between wallets.
CREATE OR REPLACE VIEW ledger.postings AS
SELECT t.order_no, p.posting_no, t.booked_at, p.account, p.symbol, p.amount, t.wallet
  FROM (SELECT d.order_no, d.stream, d.symbol, d.to_address, d.amount, d.fee, d.fee_symbol, d.occurred_at AS booked_at, d.wallet
          FROM ledger.transactions d
         WHERE d.stream IN ('deposit', 'withdraw') AND d.is_listed AND d.is_success AND d.occurred_at IS NOT NULL
        UNION ALL
        SELECT u.order_no, u.stream, u.symbol, u.to_address, u.amount, u.fee, u.fee_symbol, u.first_seen_at, u.wallet
          FROM ledger.transactions u
         WHERE u.stream IN ('deposit', 'withdraw') AND u.is_listed AND u.is_success AND u.occurred_at IS NULL) AS t
 CROSS JOIN LATERAL (VALUES
   (1, coalesce((SELECT a.name FROM ledger.accounts a WHERE a.role = 'custody'), 'custody'), t.symbol,
    CASE t.stream WHEN 'deposit' THEN t.amount ELSE - t.amount END),
   (2, CASE t.stream
         WHEN 'deposit' THEN
           coalesce((SELECT a.name FROM ledger.accounts a WHERE a.role = 'customers'), 'customers')
             || coalesce(':' || (SELECT h.assigned_to FROM ledger.addresses h
                                  WHERE h.wallet = t.wallet AND h.address_key = ledger.address_key(t.to_address)
                                    AND h.assigned_to IS NOT NULL
                                  ORDER BY h.slip44 LIMIT 1), '')
         ELSE coalesce((SELECT a.name FROM ledger.accounts a WHERE a.role = 'withdrawn'), 'withdrawn') END, t.symbol,
    CASE t.stream WHEN 'deposit' THEN - t.amount ELSE t.amount END),
   (3, coalesce((SELECT a.name FROM ledger.accounts a WHERE a.role = 'custody'), 'custody'), t.fee_symbol, - nullif(t.fee, 0)),
   (4, coalesce((SELECT a.name FROM ledger.accounts a WHERE a.role = 'fees'), 'fees'), t.fee_symbol, nullif(t.fee, 0))
 ) AS p (posting_no, account, symbol, amount)
 WHERE p.symbol IS NOT NULL AND p.amount IS NOT NULL;
--> statement-breakpoint
CREATE OR REPLACE VIEW ledger.unposted_values AS
SELECT t.order_no, m.missing, t.booked_at, t.stream, t.symbol, t.wallet
  FROM (SELECT d.order_no, d.stream, d.symbol, d.amount, d.fee, d.fee_symbol, d.detail_synced_at, d.occurred_at AS booked_at,
               d.wallet
          FROM ledger.transactions d
         WHERE d.stream IN ('deposit', 'withdraw') AND d.is_listed AND d.is_success AND d.occurred_at IS NOT NULL
        UNION ALL
        SELECT u.order_no, u.stream, u.symbol, u.amount, u.fee, u.fee_symbol, u.detail_synced_at, u.first_seen_at, u.wallet
          FROM ledger.transactions u
         WHERE u.stream IN ('deposit', 'withdraw') AND u.is_listed AND u.is_success AND u.occurred_at IS NULL) AS t
 CROSS JOIN LATERAL (VALUES
   ('amount', t.amount IS NULL),
   ('symbol', t.symbol IS NULL),
   ('fee', t.fee IS NULL
             AND (t.detail_synced_at IS NULL
                  OR EXISTS (SELECT FROM ledger.rejects r
                              WHERE r.wallet = t.wallet AND r.order_no = t.order_no AND r.resolved_at IS NULL
                                AND r.field = 'fee'))),
   ('fee_symbol', t.fee <> 0 AND t.fee_symbol IS NULL)
 ) AS m (missing, is_missing)
 WHERE m.is_missing;
--> statement-breakpoint
CREATE OR REPLACE VIEW ledger.balance_history AS
SELECT c.slip44, c.symbol, c.contract_address, c.balance, c.frozen, c.observed_at AS valid_from,
       lead(c.observed_at) OVER (PARTITION BY c.wallet, c.slip44, c.symbol, c.contract_address
                                 ORDER BY c.observed_at, c.id) AS valid_to,
       c.wallet
  FROM ledger.balance_changes c;
--> statement-breakpoint
COMMENT ON COLUMN ledger.postings.wallet IS 'Wallet that the row belongs to';
COMMENT ON COLUMN ledger.unposted_values.wallet IS 'Wallet that the row belongs to';
COMMENT ON COLUMN ledger.balance_history.wallet IS 'Wallet that the row belongs to';
COMMENT ON TABLE ledger.accounts IS 'Chart of accounts, shared by all wallets: how the view postings names its accounts. Rename them with UPDATE ... SET name; a role without a row is named by the role itself';
COMMENT ON VIEW ledger.postings IS 'Double entry of the listed transactions in a success state. Debits are positive, so the accounts add up to 0 per wallet, order_no and symbol. A deposit is +amount on custody and -amount on the customer. A withdrawal is -amount on custody and +amount on withdrawn. A fee is -fee on custody and +fee on fees, in the coin of the fee. The sum of custody is the column expected of reconciliation. Trap: a value that is not known makes no posting, see unposted_values. Give a window on booked_at, because the view reads all transactions otherwise';
--> statement-breakpoint
CREATE FUNCTION ledger.only_wallet() RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  names text[];
BEGIN
  SELECT array_agg(k.wallet ORDER BY k.wallet) INTO names
    FROM (SELECT w.wallet FROM ledger.wallets w
          UNION SELECT s.wallet FROM ledger.streams s
          UNION SELECT p.wallet FROM ledger.pools p) AS k;
  IF cardinality(names) > 1 THEN
    RAISE EXCEPTION 'this ledger has several wallets (%)', array_to_string(names, ', ')
      USING ERRCODE = 'invalid_parameter_value',
            HINT = format('name one as the first argument, as in ledger.balances_at(%L, …)', names[1]);
  END IF;
  RETURN coalesce(names[1], 'main');
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION ledger.only_wallet IS 'Wallet of a ledger that has one, main in an empty ledger; an error where it has several. Functions that are called without a wallet use it';
--> statement-breakpoint
CREATE FUNCTION ledger.balances_at(wallet text, at timestamptz)
RETURNS TABLE (slip44 integer, symbol text, contract_address text, name text, chain_name text, chain_symbol text,
               balance numeric, frozen numeric, decimals integer, is_listed boolean, changed_at timestamptz)
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
SELECT b.slip44, b.symbol, b.contract_address, b.name, b.chain_name, b.chain_symbol, amount.balance, held.frozen,
       b.decimals,
       coalesce(last.balance, last.frozen) IS NOT NULL OR b.is_listed AND coalesce(b.balance, b.frozen) IS NULL,
       last.observed_at
  FROM ledger.balances b
 CROSS JOIN LATERAL (
    SELECT c.balance, c.frozen, c.observed_at FROM ledger.balance_changes c
     WHERE c.wallet = b.wallet AND c.slip44 = b.slip44 AND c.symbol = b.symbol AND c.contract_address = b.contract_address
       AND c.observed_at <= at
     ORDER BY c.observed_at DESC, c.id DESC LIMIT 1) AS last
  LEFT JOIN LATERAL (
    SELECT c.balance FROM ledger.balance_changes c
     WHERE c.wallet = b.wallet AND c.slip44 = b.slip44 AND c.symbol = b.symbol AND c.contract_address = b.contract_address
       AND c.observed_at <= at AND c.balance IS NOT NULL
     ORDER BY c.observed_at DESC, c.id DESC LIMIT 1) AS amount ON true
  LEFT JOIN LATERAL (
    SELECT c.frozen FROM ledger.balance_changes c
     WHERE c.wallet = b.wallet AND c.slip44 = b.slip44 AND c.symbol = b.symbol AND c.contract_address = b.contract_address
       AND c.observed_at <= at AND c.frozen IS NOT NULL
     ORDER BY c.observed_at DESC, c.id DESC LIMIT 1) AS held ON true
 WHERE b.wallet = balances_at.wallet
$$;
--> statement-breakpoint
-- OFFSET 0 keeps the planner from moving the call into a condition, where it would run once per row.
CREATE OR REPLACE FUNCTION ledger.balances_at(at timestamptz)
RETURNS TABLE (slip44 integer, symbol text, contract_address text, name text, chain_name text, chain_symbol text,
               balance numeric, frozen numeric, decimals integer, is_listed boolean, changed_at timestamptz)
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
SELECT b.*
  FROM (SELECT ledger.only_wallet() AS wallet OFFSET 0) AS o
 CROSS JOIN LATERAL ledger.balances_at(o.wallet, balances_at.at) AS b
$$;
--> statement-breakpoint
CREATE FUNCTION ledger.transactions_at(wallet text, at timestamptz)
RETURNS TABLE (order_no text, stream text, request_id text, symbol text, tx_hash text, from_address text, to_address text,
               amount numeric, type text, state text, confirm_num integer, fee numeric, fee_symbol text,
               occurred_at timestamptz, is_final boolean, is_listed boolean, first_seen_at timestamptz, extra jsonb)
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
SELECT t.order_no,
       CASE WHEN u.old ? 'stream' THEN u.old ->> 'stream' ELSE t.stream END,
       CASE WHEN u.old ? 'request_id' THEN u.old ->> 'request_id' WHEN 'request_id' = ANY (t.filled) THEN NULL ELSE t.request_id END,
       CASE WHEN u.old ? 'symbol' THEN u.old ->> 'symbol' WHEN 'symbol' = ANY (t.filled) THEN NULL ELSE t.symbol END,
       CASE WHEN u.old ? 'tx_hash' THEN u.old ->> 'tx_hash' WHEN 'tx_hash' = ANY (t.filled) THEN NULL ELSE t.tx_hash END,
       CASE WHEN u.old ? 'from_address' THEN u.old ->> 'from_address' WHEN 'from_address' = ANY (t.filled) THEN NULL ELSE t.from_address END,
       CASE WHEN u.old ? 'to_address' THEN u.old ->> 'to_address' WHEN 'to_address' = ANY (t.filled) THEN NULL ELSE t.to_address END,
       CASE WHEN u.old ? 'amount' THEN (u.old ->> 'amount')::numeric WHEN 'amount' = ANY (t.filled) THEN NULL ELSE t.amount END,
       CASE WHEN u.old ? 'type' THEN u.old ->> 'type' WHEN 'type' = ANY (t.filled) THEN NULL ELSE t.type END,
       CASE WHEN u.old ? 'state' THEN u.old ->> 'state' WHEN 'state' = ANY (t.filled) THEN NULL ELSE t.state END,
       CASE WHEN u.old ? 'confirm_num' THEN (u.old ->> 'confirm_num')::integer WHEN t.filled IS NOT NULL THEN NULL ELSE t.confirm_num END,
       CASE WHEN u.old ? 'fee' THEN (u.old ->> 'fee')::numeric WHEN t.filled IS NOT NULL THEN NULL ELSE t.fee END,
       CASE WHEN u.old ? 'fee_symbol' THEN u.old ->> 'fee_symbol' WHEN t.filled IS NOT NULL THEN NULL ELSE t.fee_symbol END,
       CASE WHEN u.old ? 'occurred_at' THEN (u.old ->> 'occurred_at')::timestamptz WHEN 'occurred_at' = ANY (t.filled) THEN NULL ELSE t.occurred_at END,
       CASE WHEN u.old ? 'state'
              THEN coalesce((t.wallet, lower(btrim(u.old ->> 'state'))) IN (SELECT f.wallet, f.state FROM ledger.final_states f), false)
            WHEN 'state' = ANY (t.filled) THEN false ELSE t.is_final END,
       CASE WHEN u.old ? 'is_listed' THEN (u.old ->> 'is_listed')::boolean ELSE t.is_listed END,
       t.first_seen_at,
       CASE WHEN u.old ? 'extra' THEN (u.old ->> 'extra')::jsonb WHEN 'extra' = ANY (t.filled) THEN NULL ELSE t.extra END
  FROM (SELECT x.*, CASE WHEN x.first_detail_at > at THEN coalesce(x.first_detail_filled, '{}') END AS filled
          FROM ledger.transactions x) AS t
  LEFT JOIN (SELECT o.wallet, o.order_no, jsonb_object_agg(o.field, o.old_value) AS old
               FROM (SELECT DISTINCT ON (c.wallet, c.order_no, c.field) c.wallet, c.order_no, c.field,
                            CASE WHEN x.first_detail_at > at AND c.observed_at >= x.first_detail_at
                                  AND (c.field IN ('confirm_num', 'fee', 'fee_symbol')
                                       OR c.field = ANY (x.first_detail_filled))
                              THEN NULL ELSE c.old_value END AS old_value
                       FROM ledger.transactions x
                       JOIN ledger.transaction_changes c ON c.wallet = x.wallet AND c.order_no = x.order_no
                      WHERE x.first_seen_at <= at AND x.changed_at > at - interval '1 day' AND c.observed_at > at
                      ORDER BY c.wallet, c.order_no, c.field, c.id) AS o
              GROUP BY o.wallet, o.order_no) AS u ON u.wallet = t.wallet AND u.order_no = t.order_no
 WHERE t.wallet = transactions_at.wallet AND t.first_seen_at <= at
$$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION ledger.transactions_at(at timestamptz)
RETURNS TABLE (order_no text, stream text, request_id text, symbol text, tx_hash text, from_address text, to_address text,
               amount numeric, type text, state text, confirm_num integer, fee numeric, fee_symbol text,
               occurred_at timestamptz, is_final boolean, is_listed boolean, first_seen_at timestamptz, extra jsonb)
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
SELECT t.*
  FROM (SELECT ledger.only_wallet() AS wallet OFFSET 0) AS o
 CROSS JOIN LATERAL ledger.transactions_at(o.wallet, transactions_at.at) AS t
$$;
--> statement-breakpoint
CREATE FUNCTION ledger.booked_sums(wallet text, since timestamptz, until timestamptz)
RETURNS TABLE (kind text, symbol text, amount numeric, unknown_amounts bigint)
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
WITH days AS (
  SELECT d.first_day, d.end_day, least(d.first_day::timestamp AT TIME ZONE 'UTC', until) AS head_until,
         greatest(d.end_day::timestamp AT TIME ZONE 'UTC', least(d.first_day::timestamp AT TIME ZONE 'UTC', until)) AS tail_since
    FROM (SELECT CASE WHEN since AT TIME ZONE 'UTC' = date_trunc('day', since AT TIME ZONE 'UTC')
                   THEN (since AT TIME ZONE 'UTC')::date ELSE (since AT TIME ZONE 'UTC')::date + 1 END AS first_day,
                 (until AT TIME ZONE 'UTC')::date AS end_day) AS d
),
ends AS MATERIALIZED (
  SELECT t.stream, t.symbol, t.amount, t.fee_symbol, t.fee
    FROM days d CROSS JOIN (VALUES (true), (false)) AS e (is_head)
    JOIN ledger.transactions t
      ON t.wallet = booked_sums.wallet AND t.stream IN ('deposit', 'withdraw')
     AND t.occurred_at >= CASE WHEN e.is_head THEN since ELSE d.tail_since END
     AND t.occurred_at < CASE WHEN e.is_head THEN d.head_until ELSE until END
   WHERE t.is_success AND t.is_listed
  UNION ALL
  SELECT t.stream, t.symbol, t.amount, t.fee_symbol, t.fee
    FROM ledger.transactions t
   WHERE t.wallet = booked_sums.wallet AND t.stream IN ('deposit', 'withdraw') AND t.occurred_at IS NULL AND t.is_success
     AND t.is_listed AND t.first_seen_at >= since AND t.first_seen_at < until
)
SELECT x.kind, x.symbol, sum(x.amount), sum(x.unknown_amounts)::bigint
  FROM (SELECT CASE s.stream WHEN 'deposit' THEN 'deposits' ELSE 'withdrawals' END AS kind, s.symbol,
               coalesce(s.amount, 0) AS amount, s.unknown_amounts
          FROM days d JOIN ledger.daily_totals s ON s.day >= d.first_day AND s.day < d.end_day
         WHERE s.wallet = booked_sums.wallet AND s.is_success AND s.stream IN ('deposit', 'withdraw')
        UNION ALL
        SELECT 'fees', f.fee_symbol, f.fee, 0
          FROM days d JOIN ledger.daily_fees f ON f.day >= d.first_day AND f.day < d.end_day
         WHERE f.wallet = booked_sums.wallet AND f.is_success AND f.stream IN ('deposit', 'withdraw')
        UNION ALL
        SELECT CASE t.stream WHEN 'deposit' THEN 'deposits' ELSE 'withdrawals' END, t.symbol, coalesce(t.amount, 0),
               (t.amount IS NULL)::integer
          FROM ends t
        UNION ALL
        SELECT 'fees', t.fee_symbol, t.fee, 0 FROM ends t WHERE t.fee IS NOT NULL) AS x
 WHERE x.symbol IS NOT NULL
 GROUP BY x.kind, x.symbol
$$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION ledger.booked_sums(since timestamptz, until timestamptz)
RETURNS TABLE (kind text, symbol text, amount numeric, unknown_amounts bigint)
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
SELECT s.*
  FROM (SELECT ledger.only_wallet() AS wallet OFFSET 0) AS o
 CROSS JOIN LATERAL ledger.booked_sums(o.wallet, booked_sums.since, booked_sums.until) AS s
$$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION ledger.balance_at(of_symbol text, at timestamptz, OUT balance numeric, OUT is_computed boolean)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  SELECT b.balance, b.is_computed INTO balance, is_computed
    FROM ledger.balance_at(ledger.only_wallet(), of_symbol, at) AS b;
END $$;
--> statement-breakpoint
CREATE FUNCTION ledger.balance_at(wallet text, of_symbol text, at timestamptz, OUT balance numeric, OUT is_computed boolean)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  first_at timestamptz;
BEGIN
  SELECT min(f.observed_at) INTO first_at
    FROM ledger.balances b
   CROSS JOIN LATERAL (
      SELECT c.observed_at FROM ledger.balance_changes c
       WHERE c.wallet = b.wallet AND c.slip44 = b.slip44 AND c.symbol = b.symbol AND c.contract_address = b.contract_address
       ORDER BY c.observed_at LIMIT 1) AS f
   WHERE b.wallet = balance_at.wallet AND b.symbol = of_symbol;
  is_computed := at < first_at;
  SELECT CASE WHEN bool_and(b.balance IS NOT NULL) THEN sum(b.balance) END INTO balance
    FROM ledger.balances_at(balance_at.wallet, greatest(at, first_at)) b WHERE b.symbol = of_symbol AND b.is_listed;
  IF is_computed THEN
    SELECT CASE WHEN coalesce(sum(m.unknown_amounts), 0) = 0
             THEN balance_at.balance - coalesce(sum(CASE m.kind WHEN 'deposits' THEN m.amount ELSE - m.amount END), 0) END
      INTO balance
      FROM ledger.booked_sums(balance_at.wallet, at, first_at) m WHERE m.symbol = of_symbol;
  END IF;
END $$;
--> statement-breakpoint
CREATE FUNCTION ledger.account_statement(wallet text, symbol text, "from" date, "to" date)
RETURNS TABLE (line_no bigint, kind text, booked_at timestamptz, order_no text, account text, amount numeric,
               balance numeric, is_computed boolean)
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
WITH period AS (
  SELECT "from"::timestamp AT TIME ZONE 'UTC' AS begins_at, ("to" + 1)::timestamp AT TIME ZONE 'UTC' AS ends_at
),
known AS MATERIALIZED (
  SELECT p.begins_at, p.ends_at, o.balance AS opening, o.is_computed AS is_opening_computed,
         c.balance AS closing, c.is_computed AS is_closing_computed
    FROM period p
   CROSS JOIN LATERAL ledger.balance_at(account_statement.wallet, account_statement.symbol, p.begins_at) AS o
   CROSS JOIN LATERAL ledger.balance_at(account_statement.wallet, account_statement.symbol, p.ends_at) AS c
),
posted AS MATERIALIZED (
  SELECT b.booked_at, b.order_no, b.posting_no, b.account, - b.amount AS amount
    FROM period p
    JOIN ledger.postings b ON b.booked_at >= p.begins_at AND b.booked_at < p.ends_at
   WHERE b.wallet = account_statement.wallet AND b.symbol = account_statement.symbol AND b.posting_no IN (2, 4)
),
lines AS (
  SELECT 1 AS part, 'opening' AS kind, k.begins_at AS booked_at, NULL AS order_no, 0 AS posting_no, NULL AS account,
         NULL::numeric AS amount, k.is_opening_computed AS is_computed
    FROM known k
  UNION ALL
  SELECT 2, 'posting', p.booked_at, p.order_no, p.posting_no, p.account, p.amount, NULL FROM posted p
  UNION ALL
  SELECT 3, 'left over', k.ends_at, NULL, 0, NULL,
         k.closing - k.opening - coalesce((SELECT sum(p.amount) FROM posted p), 0), NULL
    FROM known k
  UNION ALL
  SELECT 4, 'closing', k.ends_at, NULL, 0, NULL, NULL, k.is_closing_computed FROM known k
)
SELECT row_number() OVER in_order, l.kind, l.booked_at, l.order_no, l.account, l.amount,
       CASE l.part WHEN 4 THEN k.closing ELSE k.opening + coalesce(sum(l.amount) OVER in_order, 0) END, l.is_computed
  FROM lines l CROSS JOIN known k
WINDOW in_order AS (ORDER BY l.part, l.booked_at, l.order_no, l.posting_no)
 ORDER BY 1
$$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION ledger.account_statement(symbol text, "from" date, "to" date)
RETURNS TABLE (line_no bigint, kind text, booked_at timestamptz, order_no text, account text, amount numeric,
               balance numeric, is_computed boolean)
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
SELECT s.*
  FROM (SELECT ledger.only_wallet() AS wallet OFFSET 0) AS o
 CROSS JOIN LATERAL ledger.account_statement(o.wallet, account_statement.symbol, account_statement."from",
                                             account_statement."to") AS s
 ORDER BY 1
$$;
--> statement-breakpoint
CREATE FUNCTION ledger.trial_balance_at(wallet text, at timestamptz)
RETURNS TABLE (account text, symbol text, amount numeric, reported numeric)
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
WITH held AS (
  SELECT b.symbol, CASE WHEN bool_and(b.balance IS NOT NULL) THEN sum(b.balance) END AS balance
    FROM ledger.balances_at(trial_balance_at.wallet, at) b WHERE b.is_listed GROUP BY b.symbol
),
sums AS (
  SELECT x.role, x.symbol, sum(x.amount) AS amount
    FROM ledger.booked_sums(trial_balance_at.wallet, '-infinity', at) b
   CROSS JOIN LATERAL (VALUES
     ('custody', b.symbol, CASE b.kind WHEN 'deposits' THEN b.amount ELSE - b.amount END),
     (CASE b.kind WHEN 'deposits' THEN 'customers' WHEN 'withdrawals' THEN 'withdrawn' ELSE 'fees' END, b.symbol,
      CASE b.kind WHEN 'deposits' THEN - b.amount ELSE b.amount END)) AS x (role, symbol, amount)
   GROUP BY x.role, x.symbol
)
SELECT coalesce(a.name, t.role), t.symbol, t.amount, t.reported
  FROM (SELECT s.role, s.symbol, s.amount, h.balance AS reported
          FROM sums s LEFT JOIN held h ON h.symbol = s.symbol AND s.role = 'custody'
        UNION ALL
        SELECT 'custody', h.symbol, 0, h.balance FROM held h
         WHERE NOT EXISTS (SELECT FROM sums s WHERE s.role = 'custody' AND s.symbol = h.symbol)) AS t
  LEFT JOIN ledger.accounts a ON a.role = t.role
$$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION ledger.trial_balance_at(at timestamptz)
RETURNS TABLE (account text, symbol text, amount numeric, reported numeric)
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
SELECT b.*
  FROM (SELECT ledger.only_wallet() AS wallet OFFSET 0) AS o
 CROSS JOIN LATERAL ledger.trial_balance_at(o.wallet, trial_balance_at.at) AS b
$$;
--> statement-breakpoint
COMMENT ON FUNCTION ledger.balances_at(text, timestamptz) IS 'As balances_at(at), for a named wallet';
COMMENT ON FUNCTION ledger.transactions_at(text, timestamptz) IS 'As transactions_at(at), for a named wallet';
COMMENT ON FUNCTION ledger.booked_sums(text, timestamptz, timestamptz) IS 'As booked_sums(since, until), for a named wallet';
COMMENT ON FUNCTION ledger.balance_at(text, text, timestamptz) IS 'As balance_at(of_symbol, at), for a named wallet';
COMMENT ON FUNCTION ledger.account_statement(text, text, date, date) IS 'As account_statement(symbol, from, to), for a named wallet';
COMMENT ON FUNCTION ledger.trial_balance_at(text, timestamptz) IS 'As trial_balance_at(at), for a named wallet';
--> statement-breakpoint
DROP FUNCTION engine.closed_lines(text, text, numeric, numeric, text, boolean, timestamptz);
--> statement-breakpoint
CREATE FUNCTION engine.closed_lines(of_wallet text, stream text, of_symbol text, amount numeric, fee numeric, fee_symbol text,
                                    is_booked boolean, booked_at timestamptz)
RETURNS TABLE (month date, symbol text, effect numeric)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
SELECT c.month, l.symbol, l.effect
  FROM ledger.closed_months c
 CROSS JOIN LATERAL (
    SELECT of_symbol, CASE WHEN NOT is_booked THEN 0 WHEN stream = 'deposit' THEN amount ELSE - amount END
    UNION ALL
    SELECT fee_symbol, - fee WHERE is_booked AND fee <> 0 AND fee_symbol IS NOT NULL) AS l (symbol, effect)
 WHERE c.wallet = of_wallet AND c.month = date_trunc('month', booked_at AT TIME ZONE 'UTC')::date
$$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION engine.note_inserted_late() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM ledger.closed_months) THEN RETURN NULL; END IF;
  INSERT INTO ledger.late_entries (wallet, month, order_no, kind, symbol, amount_change)
  SELECT n.wallet, l.month, n.order_no, 'new', l.symbol, CASE WHEN count(*) = count(l.effect) THEN sum(l.effect) END
    FROM new_rows n
   CROSS JOIN LATERAL engine.closed_lines(n.wallet, n.stream, n.symbol, n.amount, n.fee, n.fee_symbol, n.is_success,
                                          coalesce(n.occurred_at, n.first_seen_at)) AS l
   WHERE n.is_listed
   GROUP BY n.wallet, l.month, n.order_no, l.symbol ORDER BY n.wallet, n.order_no;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION engine.note_deleted_late() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM ledger.closed_months) THEN RETURN NULL; END IF;
  INSERT INTO ledger.late_entries (wallet, month, order_no, kind, symbol, amount_change)
  SELECT o.wallet, l.month, o.order_no, 'unlisted', l.symbol, CASE WHEN count(*) = count(l.effect) THEN - sum(l.effect) END
    FROM old_rows o
   CROSS JOIN LATERAL engine.closed_lines(o.wallet, o.stream, o.symbol, o.amount, o.fee, o.fee_symbol, o.is_success,
                                          coalesce(o.occurred_at, o.first_seen_at)) AS l
   WHERE o.is_listed
   GROUP BY o.wallet, l.month, o.order_no, l.symbol ORDER BY o.wallet, o.order_no;
  RETURN NULL;
END $$;
--> statement-breakpoint
-- A row whose key changed, as one that is moved to another wallet, leaves its old key and enters the new one.
CREATE OR REPLACE FUNCTION engine.note_updated_late() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM ledger.closed_months) THEN RETURN NULL; END IF;
  INSERT INTO ledger.late_entries (wallet, month, order_no, kind, symbol, amount_change)
  WITH changed AS (
    SELECT CASE WHEN o.is_listed IS NOT TRUE THEN 'new' WHEN n.is_listed IS NOT TRUE THEN 'unlisted' ELSE 'changed' END AS kind,
           x.*
      FROM old_rows o FULL JOIN new_rows n ON n.wallet = o.wallet AND n.order_no = o.order_no
     CROSS JOIN LATERAL (VALUES
       (-1, o.wallet, o.order_no, o.stream, o.symbol, o.amount, o.fee, o.fee_symbol, o.is_listed, o.is_success,
        coalesce(o.occurred_at, o.first_seen_at)),
       (1, n.wallet, n.order_no, n.stream, n.symbol, n.amount, n.fee, n.fee_symbol, n.is_listed, n.is_success,
        coalesce(n.occurred_at, n.first_seen_at))
     ) AS x (sign, wallet, order_no, stream, symbol, amount, fee, fee_symbol, is_listed, is_success, booked_at)
     WHERE (o.is_listed OR n.is_listed) AND x.wallet IS NOT NULL
       AND (o.stream, o.symbol, o.amount, o.fee, o.fee_symbol, o.state, o.is_success, o.is_listed, o.occurred_at)
           IS DISTINCT FROM (n.stream, n.symbol, n.amount, n.fee, n.fee_symbol, n.state, n.is_success, n.is_listed, n.occurred_at)
  )
  SELECT c.wallet, l.month, c.order_no, c.kind, l.symbol,
         CASE WHEN count(*) = count(l.effect) THEN sum(c.sign * l.effect) END
    FROM changed c
   CROSS JOIN LATERAL engine.closed_lines(c.wallet, c.stream, c.symbol, c.amount, c.fee, c.fee_symbol,
                                          c.is_listed AND c.is_success, c.booked_at) AS l
   GROUP BY c.wallet, l.month, c.order_no, c.kind, l.symbol ORDER BY c.wallet, c.order_no;
  RETURN NULL;
END $$;
--> statement-breakpoint
-- Pairs of a withdrawal and a deposit of another wallet that may be the same transfer.
CREATE VIEW engine.transfer_candidates AS
SELECT w.wallet AS from_wallet, w.order_no, d.wallet AS to_wallet, d.order_no AS to_order_no, w.tx_hash, w.symbol, w.amount,
       d.amount AS received, w.fee, w.fee_symbol, w.occurred_at, d.occurred_at AS received_at,
       coalesce(w.amount = d.amount, false) AS is_exact, w.is_success AND d.is_success AS is_success, w.state,
       d.state AS to_state,
       coalesce(ledger.address_key(w.to_address) = ledger.address_key(d.to_address), false) AS is_same_address
  FROM ledger.transactions w
  JOIN ledger.transactions d ON d.tx_hash = w.tx_hash AND d.symbol = w.symbol AND d.wallet <> w.wallet
  LEFT JOIN ledger.known_chains k ON k.wallet = w.wallet AND k.symbol = w.symbol
                                 AND (k.fee_symbol IS NULL OR k.fee_symbol = w.fee_symbol)
 WHERE w.stream = 'withdraw' AND w.is_listed AND (w.is_success OR NOT w.is_final) AND w.tx_hash <> ''
   AND d.stream = 'deposit' AND d.is_listed AND (d.is_success OR NOT d.is_final)
   AND coalesce(ledger.address_key(w.to_address) = ledger.address_key(d.to_address), true)
   AND coalesce((SELECT bool_or(a.slip44 = k.slip44) FROM ledger.addresses a
                  WHERE a.wallet = d.wallet AND a.address_key = ledger.address_key(d.to_address)), true);
--> statement-breakpoint
COMMENT ON VIEW engine.transfer_candidates IS 'Withdrawals and deposits of two wallets that may be one transfer: same transaction hash and coin, no contradicting address or chain. A row may be in several pairs';
--> statement-breakpoint
-- Takes the best pair first, and each row once. Reads for its caller what the view above has.
CREATE FUNCTION engine.match_transfers(of_hash text, of_symbol text)
RETURNS TABLE (from_wallet text, order_no text, to_wallet text, to_order_no text)
LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  c record;
  matched text[] := '{}';
BEGIN
  FOR c IN
    SELECT x.from_wallet, x.order_no, x.to_wallet, x.to_order_no, x.from_wallet || ' - ' || x.order_no AS sent,
           x.to_wallet || ' + ' || x.to_order_no AS received
      FROM engine.transfer_candidates x
     WHERE x.tx_hash = of_hash AND x.symbol = of_symbol
     ORDER BY x.is_same_address DESC, x.is_exact DESC, abs(x.amount - x.received), x.from_wallet, x.order_no, x.to_wallet,
              x.to_order_no
  LOOP
    CONTINUE WHEN matched && ARRAY[c.sent, c.received];
    matched := matched || ARRAY[c.sent, c.received];
    from_wallet := c.from_wallet;
    order_no := c.order_no;
    to_wallet := c.to_wallet;
    to_order_no := c.to_order_no;
    RETURN NEXT;
  END LOOP;
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION engine.match_transfers IS 'Pairs of one hash and coin, each row in one pair at most: same address first, then same amount, then the smallest difference';
--> statement-breakpoint
-- Only a hash that has more rows of the coin needs the function.
CREATE VIEW ledger.internal_transfers AS
SELECT c.from_wallet AS wallet, c.order_no, c.to_wallet, c.to_order_no, c.tx_hash, c.symbol, c.amount, c.received, c.fee,
       c.fee_symbol, c.occurred_at, c.received_at, c.is_exact, c.is_success, c.state, c.to_state
  FROM engine.transfer_candidates c
 WHERE (SELECT count(*) > 1 FROM engine.wallet_names)
   AND CASE WHEN EXISTS (SELECT FROM ledger.transactions o
                          WHERE o.tx_hash = c.tx_hash AND o.symbol = c.symbol
                            AND (o.wallet, o.order_no) NOT IN ((c.from_wallet, c.order_no), (c.to_wallet, c.to_order_no)))
         THEN EXISTS (SELECT FROM engine.match_transfers(c.tx_hash, c.symbol) m
                       WHERE (m.from_wallet, m.order_no, m.to_wallet, m.to_order_no)
                             = (c.from_wallet, c.order_no, c.to_wallet, c.to_order_no))
         ELSE true END;
--> statement-breakpoint
COMMENT ON VIEW ledger.internal_transfers IS 'Transfers between wallets of this ledger: a withdrawal of one wallet that is a deposit of another. Both rows are listed and in a success state or pending, and have the same transaction hash and coin; where both are known, the address and the chain agree too. A hash may carry several transfers: each withdrawal has at most one deposit and each deposit at most one withdrawal, same address first, then same amount. Give order_no or tx_hash where you can, because the view compares all hashes otherwise';
COMMENT ON COLUMN ledger.internal_transfers.wallet IS 'Wallet of the withdrawal';
COMMENT ON COLUMN ledger.internal_transfers.order_no IS 'Order identifier of the withdrawal (orderNo)';
COMMENT ON COLUMN ledger.internal_transfers.to_wallet IS 'Wallet of the deposit';
COMMENT ON COLUMN ledger.internal_transfers.to_order_no IS 'Order identifier of the deposit (orderNo)';
COMMENT ON COLUMN ledger.internal_transfers.tx_hash IS 'Transaction hash of both (txHash)';
COMMENT ON COLUMN ledger.internal_transfers.symbol IS 'Coin symbol code of both';
COMMENT ON COLUMN ledger.internal_transfers.amount IS 'Amount of the withdrawal in units of the coin; null when it is not known';
COMMENT ON COLUMN ledger.internal_transfers.received IS 'Amount of the deposit in units of the coin; null when it is not known';
COMMENT ON COLUMN ledger.internal_transfers.fee IS 'Fee of the withdrawal in units of fee_symbol; null until its detail has been fetched';
COMMENT ON COLUMN ledger.internal_transfers.fee_symbol IS 'Coin symbol code of the fee';
COMMENT ON COLUMN ledger.internal_transfers.occurred_at IS 'Time of the withdrawal as the service says (time)';
COMMENT ON COLUMN ledger.internal_transfers.received_at IS 'Time of the deposit as the service says (time)';
COMMENT ON COLUMN ledger.internal_transfers.is_exact IS 'True if both amounts are known and equal';
COMMENT ON COLUMN ledger.internal_transfers.is_success IS 'True if both rows are in a success state; false while one of them is pending';
COMMENT ON COLUMN ledger.internal_transfers.state IS 'State of the withdrawal as the service says';
COMMENT ON COLUMN ledger.internal_transfers.to_state IS 'State of the deposit as the service says';
--> statement-breakpoint
CREATE OR REPLACE FUNCTION ledger.contract_version() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT '1.1' $$;
--> statement-breakpoint
CREATE OR REPLACE VIEW ledger.contract AS
SELECT c.relname::text AS relation, a.attname::text AS "column", format_type(a.atttypid, a.atttypmod) AS type,
       CASE WHEN a.atttypid = 'numeric'::regtype THEN 'units of the coin'
            WHEN a.atttypid = 'timestamptz'::regtype THEN 'instant'
            WHEN a.atttypid = 'date'::regtype THEN 'UTC day'
            WHEN a.attname LIKE '%\_seconds' THEN 'seconds'
            WHEN a.attname IN ('transactions', 'service_total', 'ledger_count', 'available', 'assigned', 'used', 'threshold',
                               'target', 'rows_seen', 'rows_inserted', 'rows_updated', 'requests') THEN 'number' END AS unit,
       d.description AS meaning,
       CASE WHEN c.relname = 'internal_transfers' OR a.attname = 'wallet' AND c.relname <> 'wallets' THEN '1.1'
            ELSE '1.0' END AS since,
       CASE WHEN d.description LIKE 'Deprecated%' THEN substring(d.description FROM '^Deprecated[:,]? *(.*)$') END AS deprecated
  FROM pg_class c
  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  LEFT JOIN pg_description d ON d.classoid = 'pg_class'::regclass AND d.objoid = c.oid AND d.objsubid = a.attnum
 WHERE c.relnamespace = 'ledger'::regnamespace AND c.relkind IN ('r', 'p', 'v')
   AND coalesce(d.description, '') NOT LIKE 'Internal%'
   AND coalesce(obj_description(c.oid, 'pg_class'), '') NOT LIKE 'Internal%';
--> statement-breakpoint
SELECT engine.make_own_views();
--> statement-breakpoint
SELECT engine.settle_rights();
