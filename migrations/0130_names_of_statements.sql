-- A statement of a wallet or coin that does not exist had an opening and a closing line, as if nothing had moved.
CREATE FUNCTION ledger.require_wallet(wallet text) RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  names text[];
BEGIN
  IF EXISTS (SELECT FROM ledger.wallets w WHERE w.wallet = require_wallet.wallet)
     OR EXISTS (SELECT FROM ledger.streams s WHERE s.wallet = require_wallet.wallet)
     OR EXISTS (SELECT FROM ledger.transactions t WHERE t.wallet = require_wallet.wallet)
     OR EXISTS (SELECT FROM ledger.balances b WHERE b.wallet = require_wallet.wallet) THEN
    RETURN true;
  END IF;
  SELECT coalesce(array_agg(k.wallet ORDER BY k.wallet), '{main}') INTO names
    FROM (SELECT w.wallet FROM ledger.wallets w UNION SELECT s.wallet FROM ledger.streams s
          UNION SELECT p.wallet FROM ledger.pools p) AS k;
  IF require_wallet.wallet = ANY (names) THEN RETURN true; END IF;
  RAISE EXCEPTION 'there is no wallet named %, or this role may not see it', quote_nullable(require_wallet.wallet)
    USING ERRCODE = 'invalid_parameter_value', HINT = 'name one of ' || array_to_string(names, ', ');
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION ledger.require_wallet IS 'True for a wallet of the ledger that the role sees; an error for any other';
--> statement-breakpoint
CREATE FUNCTION ledger.require_symbol(wallet text, symbol text) RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  names text;
BEGIN
  PERFORM ledger.require_wallet(require_symbol.wallet);
  IF EXISTS (SELECT FROM ledger.balances b WHERE b.wallet = require_symbol.wallet AND b.symbol = require_symbol.symbol)
     OR EXISTS (SELECT FROM ledger.coins c WHERE c.wallet = require_symbol.wallet AND c.symbol = require_symbol.symbol)
     OR EXISTS (SELECT FROM ledger.transactions t
                 WHERE t.wallet = require_symbol.wallet AND require_symbol.symbol IN (t.symbol, t.fee_symbol)) THEN
    RETURN true;
  END IF;
  SELECT string_agg(k.symbol, ', ' ORDER BY k.symbol) INTO names
    FROM (SELECT DISTINCT b.symbol FROM ledger.balances b WHERE b.wallet = require_symbol.wallet ORDER BY 1 LIMIT 50) AS k;
  RAISE EXCEPTION 'the wallet % has never had a coin %', require_symbol.wallet, quote_nullable(require_symbol.symbol)
    USING ERRCODE = 'invalid_parameter_value',
          HINT = 'name a symbol as the service spells it' || coalesce(': ' || names, '; the wallet has no balance yet');
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION ledger.require_symbol IS 'True for a coin that a balance, a coin of the service or a transaction of the wallet names; an error for any other, and for a wallet that require_wallet refuses';
--> statement-breakpoint
DO $migration$
DECLARE
  edit text[];
  definition text;
BEGIN
  FOREACH edit SLICE 1 IN ARRAY ARRAY[
    ['balances_at(text, timestamptz)', 'WHERE b.wallet = balances_at.wallet',
     'WHERE b.wallet = balances_at.wallet AND ledger.require_wallet(balances_at.wallet)'],
    ['transactions_at(text, timestamptz)', 'WHERE t.wallet = transactions_at.wallet AND t.first_seen_at <= at',
     'WHERE t.wallet = transactions_at.wallet AND t.first_seen_at <= at AND ledger.require_wallet(transactions_at.wallet)'],
    ['booked_sums(text, timestamptz, timestamptz, text)', E'BEGIN\n  RETURN QUERY',
     E'BEGIN\n  PERFORM ledger.require_wallet(booked_sums.wallet);\n  RETURN QUERY'],
    ['balance_at(text, text, timestamptz)', E'BEGIN\n  SELECT min(',
     E'BEGIN\n  PERFORM ledger.require_symbol(balance_at.wallet, of_symbol);\n  SELECT min('],
    ['custody_postings(text, text, timestamptz, timestamptz)', E'BEGIN\n  RETURN QUERY',
     E'BEGIN\n  PERFORM ledger.require_symbol(of_wallet, of_symbol);\n  RETURN QUERY']]
  LOOP
    definition := pg_get_functiondef(('ledger.' || edit[1])::regprocedure);
    ASSERT cardinality(string_to_array(definition, edit[2])) = 2, edit[1];
    EXECUTE replace(definition, edit[2], edit[3]);
  END LOOP;
END $migration$;
--> statement-breakpoint
SELECT engine.settle_rights();
