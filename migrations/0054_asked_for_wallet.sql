-- A ledger of several wallets has no answer without a wallet. The condition has no columns, so it is checked before any
-- table is read, whatever the plan; a join alone leaves the wallet unasked where the other side is empty.
CREATE OR REPLACE FUNCTION ledger.balances_at(at timestamptz)
RETURNS TABLE (slip44 integer, symbol text, contract_address text, name text, chain_name text, chain_symbol text,
               balance numeric, frozen numeric, decimals integer, is_listed boolean, changed_at timestamptz)
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
SELECT b.*
  FROM (SELECT ledger.only_wallet() AS wallet OFFSET 0) AS o
 CROSS JOIN LATERAL ledger.balances_at(o.wallet, balances_at.at) AS b
 WHERE ledger.only_wallet() IS NOT NULL
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
 WHERE ledger.only_wallet() IS NOT NULL
$$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION ledger.booked_sums(since timestamptz, until timestamptz)
RETURNS TABLE (kind text, symbol text, amount numeric, unknown_amounts bigint)
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
SELECT s.*
  FROM (SELECT ledger.only_wallet() AS wallet OFFSET 0) AS o
 CROSS JOIN LATERAL ledger.booked_sums(o.wallet, booked_sums.since, booked_sums.until) AS s
 WHERE ledger.only_wallet() IS NOT NULL
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
 WHERE ledger.only_wallet() IS NOT NULL
 ORDER BY 1
$$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION ledger.trial_balance_at(at timestamptz)
RETURNS TABLE (account text, symbol text, amount numeric, reported numeric)
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
SELECT b.*
  FROM (SELECT ledger.only_wallet() AS wallet OFFSET 0) AS o
 CROSS JOIN LATERAL ledger.trial_balance_at(o.wallet, trial_balance_at.at) AS b
 WHERE ledger.only_wallet() IS NOT NULL
$$;
