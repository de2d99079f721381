CREATE FUNCTION ledger.require_period("from" date, "to" date) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
BEGIN
  IF "from" IS NULL OR "to" IS NULL THEN
    RAISE EXCEPTION 'a statement needs its first and its last day; one of them is null' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  IF "from" > "to" THEN
    RAISE EXCEPTION 'the first day, %, is after the last one, %', "from", "to" USING ERRCODE = 'invalid_parameter_value';
  END IF;
  RETURN true;
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION ledger.require_period IS 'True for a period of one day or more, both days included; an error for any other';
--> statement-breakpoint
CREATE OR REPLACE FUNCTION ledger.account_statement(wallet text, symbol text, "from" date, "to" date)
RETURNS TABLE (line_no bigint, kind text, booked_at timestamptz, order_no text, account text, amount numeric,
               balance numeric, is_computed boolean)
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
WITH period AS (
  SELECT "from"::timestamp AT TIME ZONE 'UTC' AS begins_at, ("to" + 1)::timestamp AT TIME ZONE 'UTC' AS ends_at
   WHERE ledger.require_period("from", "to")
),
known AS MATERIALIZED (
  SELECT p.begins_at, p.ends_at, o.balance AS opening, o.is_computed AS is_opening_computed,
         c.balance AS closing, c.is_computed AS is_closing_computed
    FROM period p
   CROSS JOIN LATERAL ledger.balance_at(account_statement.wallet, account_statement.symbol, p.begins_at) AS o
   CROSS JOIN LATERAL ledger.balance_at(account_statement.wallet, account_statement.symbol, p.ends_at) AS c
),
posted AS MATERIALIZED (
  SELECT c.booked_at, c.order_no, c.posting_no, c.account, c.amount
    FROM period p
   CROSS JOIN LATERAL ledger.custody_postings(account_statement.wallet, account_statement.symbol, p.begins_at, p.ends_at) AS c
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
CREATE OR REPLACE FUNCTION engine.require_wallet(wallet text) RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
  names text[];
BEGIN
  SELECT array_agg(w.wallet ORDER BY w.wallet) INTO names FROM engine.wallet_names w;
  IF wallet IS NULL OR wallet <> ALL (names) THEN
    RAISE EXCEPTION 'there is no wallet named %: %', coalesce(quote_literal(wallet), 'null'),
      CASE WHEN cardinality(names) > 1 THEN 'the wallets are ' ELSE 'the only one is ' END || array_to_string(names, ', ')
      USING ERRCODE = 'invalid_parameter_value',
            HINT = 'a wallet that is new in WALLETS is in the ledger after its first `wallet-ledger sync`';
  END IF;
END $$;
--> statement-breakpoint
SELECT engine.settle_rights();
