-- A text that is no hash, such as N/A, paired unrelated rows of two wallets, and one hash in two spellings paired none.
--
-- A hash has letters and digits, or 24 digits or more; words have no digit, and dates and small numbers no letter. One
-- character again and again is none. The spellings of 64 hexadecimal digits are listed, because a lookup for each costs
-- less than a second index.
CREATE FUNCTION ledger.hash_spellings(hash text) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
SELECT CASE
         WHEN length(hash) < CASE WHEN hash ~ '[A-Za-z]' THEN 8 ELSE 24 END THEN NULL
         WHEN btrim(translate(regexp_replace(hash, '^0[xX]', ''), '-:.@_/+=', ''), right(hash, 1)) = '' THEN NULL
         WHEN hash ~* '^(0x)?[0-9a-f]{64}$' THEN
           ARRAY[hash, lower(right(hash, 64)), '0x' || lower(right(hash, 64)), upper(right(hash, 64)),
                 '0x' || upper(right(hash, 64)), '0X' || upper(right(hash, 64))]
         WHEN hash ~ '^[-0-9A-Za-z:.@_/+]+=*$' AND (hash ~ '[0-9]' OR length(hash) >= 43) THEN ARRAY[hash]
       END
$$;
--> statement-breakpoint
COMMENT ON FUNCTION ledger.hash_spellings IS 'Spellings of a transaction hash: 64 hexadecimal digits in lower or upper case, with or without 0x; any other hash as it is. Null for a text that is no hash, such as N/A or 0x0';
--> statement-breakpoint
-- Each of the two spelling conditions serves an index lookup from one side. The first one serves a join of all rows, which
-- the planner chooses only if it knows that few rows share the value.
CREATE STATISTICS ledger.transactions_hash_end ON (lower(right(tx_hash, 64))) FROM ledger.transactions;
--> statement-breakpoint
CREATE OR REPLACE VIEW engine.transfer_candidates AS
SELECT w.wallet AS from_wallet, w.order_no, d.wallet AS to_wallet, d.order_no AS to_order_no, w.tx_hash, w.symbol, w.amount,
       d.amount AS received, w.fee, w.fee_symbol, w.occurred_at, d.occurred_at AS received_at,
       coalesce(w.amount = d.amount, false) AS is_exact, w.is_success AND d.is_success AS is_success, w.state,
       d.state AS to_state,
       coalesce(ledger.address_key(w.to_address) = ledger.address_key(d.to_address), false) AS is_same_address
  FROM ledger.transactions w
  JOIN ledger.transactions d ON lower(right(d.tx_hash, 64)) = lower(right(w.tx_hash, 64))
                            AND d.tx_hash = ANY (ledger.hash_spellings(w.tx_hash))
                            AND w.tx_hash = ANY (ledger.hash_spellings(d.tx_hash))
                            AND d.symbol = w.symbol AND d.wallet <> w.wallet
  LEFT JOIN ledger.known_chains k ON k.wallet = w.wallet AND k.symbol = w.symbol
                                 AND (k.fee_symbol IS NULL OR k.fee_symbol = w.fee_symbol)
 WHERE w.stream = 'withdraw' AND w.is_listed AND (w.is_success OR NOT w.is_final) AND length(w.tx_hash) >= 8
   AND d.stream = 'deposit' AND d.is_listed AND (d.is_success OR NOT d.is_final) AND length(d.tx_hash) >= 8
   AND coalesce(d.amount <= w.amount, true)
   AND coalesce(d.occurred_at >= w.occurred_at - interval '1 day', true)
   AND coalesce(ledger.address_key(w.to_address) = ledger.address_key(d.to_address), true)
   AND coalesce((SELECT bool_or(a.slip44 = k.slip44) FROM ledger.addresses a
                  WHERE a.wallet = d.wallet AND a.address_key = ledger.address_key(d.to_address)), true);
--> statement-breakpoint
COMMENT ON VIEW engine.transfer_candidates IS 'Withdrawals and deposits of two wallets that may be one transfer: same transaction hash and coin, no contradicting address, chain, amount or time. A row may be in several pairs';
--> statement-breakpoint
DO $migration$
DECLARE
  definition text := pg_get_functiondef('engine.match_transfers(text,text)'::regprocedure);
  piece text := 'x.tx_hash = of_hash';
BEGIN
  ASSERT strpos(definition, piece) > 0, piece;
  EXECUTE replace(definition, piece, 'x.tx_hash = ANY (ledger.hash_spellings(of_hash))');
END $migration$;
--> statement-breakpoint
DO $migration$
DECLARE
  definition text := pg_get_viewdef('ledger.internal_transfers'::regclass);
  piece text := 'o.tx_hash = c.tx_hash';
BEGIN
  ASSERT strpos(definition, piece) > 0, piece;
  EXECUTE 'CREATE OR REPLACE VIEW ledger.internal_transfers AS '
          || replace(definition, piece, 'o.tx_hash = ANY (ledger.hash_spellings(c.tx_hash))');
END $migration$;
--> statement-breakpoint
COMMENT ON VIEW ledger.internal_transfers IS 'Transfers between wallets of this ledger: a withdrawal of one wallet that is a deposit of another. Both rows are listed and in a success state or pending, and have the same transaction hash and coin. Hexadecimal hashes are the same in lower and upper case, with or without 0x; a text that is no hash, such as N/A, pairs nothing. Where both are known, the address and the chain agree too, no more was received than sent, and the deposit is at most a day earlier than the withdrawal. A hash may carry several transfers: each withdrawal has at most one deposit and each deposit at most one withdrawal, same address first, then same amount; so of a withdrawal that arrives as two deposits, one is not paired. Give order_no or tx_hash where you can, because the view compares all hashes otherwise';
COMMENT ON COLUMN ledger.internal_transfers.tx_hash IS 'Transaction hash of both (txHash), as the withdrawal has it';
--> statement-breakpoint
SELECT engine.make_own_views();
--> statement-breakpoint
SELECT engine.settle_rights();
