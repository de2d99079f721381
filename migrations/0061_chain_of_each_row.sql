-- The service names no chain in a transaction. What tells it (the coin, the deposit's address, the coin of the fee) is asked
-- when the row is stored, and again for the rows without a chain when the ledger learns of an asset or an address.
CREATE TABLE "engine"."chain_addresses" (
	"wallet" text DEFAULT engine.wallet() NOT NULL,
	"address_key" text NOT NULL,
	CONSTRAINT "chain_addresses_wallet_address_key_pk" PRIMARY KEY("wallet","address_key")
);
--> statement-breakpoint
CREATE TABLE "engine"."chain_assignments" (
	"wallet" text DEFAULT engine.wallet() NOT NULL,
	"after_order_no" text NOT NULL,
	"repeat_after" "xid8",
	CONSTRAINT "chain_assignments_wallet_pk" PRIMARY KEY("wallet")
);
--> statement-breakpoint
ALTER TABLE "ledger"."transactions" ADD COLUMN "slip44" integer;
--> statement-breakpoint
ALTER TABLE "ledger"."transactions" ADD COLUMN "contract_address" text;
--> statement-breakpoint
CREATE INDEX "transactions_without_chain" ON "ledger"."transactions" USING btree ("wallet","order_no") WHERE "ledger"."transactions"."slip44" is null;
--> statement-breakpoint
COMMENT ON COLUMN ledger.transactions.slip44 IS 'Chain as its slip44 code: that of the coin if the wallet''s coins and balances have it on one chain only; otherwise that of a deposit''s address if the ledger has it on one chain only; otherwise the chain whose main coin paid the fee. Null where the chain is not known. The service does not name it, so it is no part of the change log; a chain once known stays';
COMMENT ON COLUMN ledger.transactions.contract_address IS 'Contract of the coin on that chain, as in balances and coins: empty for a main-chain coin; null where it is not known';
COMMENT ON TABLE engine.chain_assignments IS 'Assignments of chains to rows without one that are under way, one row per wallet; written when the wallet gets an asset';
COMMENT ON COLUMN engine.chain_assignments.wallet IS 'Wallet of the transactions';
COMMENT ON COLUMN engine.chain_assignments.after_order_no IS 'Rows up to this order number are done';
COMMENT ON COLUMN engine.chain_assignments.repeat_after IS 'The rows are read once more when all transactions below this one have ended; null during the first reading';
COMMENT ON TABLE engine.chain_addresses IS 'New addresses with earlier deposits whose chain is not assigned yet';
COMMENT ON COLUMN engine.chain_addresses.wallet IS 'Wallet of the address';
COMMENT ON COLUMN engine.chain_addresses.address_key IS 'As in ledger.addresses';
--> statement-breakpoint
CREATE FUNCTION engine.note_new_assets() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  INSERT INTO engine.chain_assignments (wallet, after_order_no)
  SELECT DISTINCT n.wallet, ''
    FROM new_rows n
   WHERE NOT CASE TG_TABLE_NAME
               WHEN 'coins' THEN EXISTS (SELECT FROM ledger.balances b
                                          WHERE (b.wallet, b.slip44, b.symbol, b.contract_address)
                                              = (n.wallet, n.slip44, n.symbol, n.contract_address))
               ELSE EXISTS (SELECT FROM ledger.coins c
                             WHERE (c.wallet, c.slip44, c.symbol, c.contract_address)
                                 = (n.wallet, n.slip44, n.symbol, n.contract_address)) END
   ORDER BY n.wallet
  ON CONFLICT (wallet) DO UPDATE SET after_order_no = '', repeat_after = NULL;
  RETURN NULL;
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION engine.note_new_assets IS 'Begins an assignment of chains when the wallet gets an asset that neither its coins nor its balances had';
--> statement-breakpoint
CREATE TRIGGER coins_new_assets AFTER INSERT ON ledger.coins
  REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION engine.note_new_assets();
CREATE TRIGGER balances_new_assets AFTER INSERT ON ledger.balances
  REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION engine.note_new_assets();
--> statement-breakpoint
-- A new address may tell the chain of its earlier deposits.
DO $migration$
DECLARE
  former text := pg_get_functiondef('engine.check_new_addresses()'::regprocedure);
  present text := replace(former, 'PERFORM engine.recount_use(keys);', $to$PERFORM engine.recount_use(keys);
  INSERT INTO own.chain_addresses (address_key)
  SELECT u.key
    FROM unnest(keys) AS u (key)
   WHERE (SELECT count(*) FROM (SELECT FROM own.transactions t
                                 WHERE t.stream = 'deposit' AND ledger.address_key(t.to_address) = u.key
                                   AND t.slip44 IS NULL LIMIT 1) AS d) > 0
   ORDER BY u.key
  ON CONFLICT (wallet, address_key) DO NOTHING;$to$);
BEGIN
  ASSERT present <> former;
  EXECUTE present;
END $migration$;
--> statement-breakpoint
-- The chain is shown with each event, but is no change of what the service said.
DO $migration$
DECLARE
  former text := pg_get_functiondef('engine.emit_changed_transactions()'::regprocedure);
  present text := replace(former, $from$jsonb_each(c.after - 'changed_at')$from$,
                          $to$jsonb_each(c.after - '{changed_at,slip44,contract_address}'::text[])$to$);
BEGIN
  ASSERT present <> former;
  EXECUTE present;
END $migration$;
--> statement-breakpoint
CREATE OR REPLACE VIEW ledger.pending_transactions AS
SELECT seen.*
  FROM (SELECT t.order_no, t.stream, t.request_id, t.symbol, t.tx_hash, t.from_address, t.to_address, t.amount, t.type, t.state,
               t.confirm_num, t.fee, t.fee_symbol, t.occurred_at, t.is_final, t.is_listed, t.detail_synced_at,
               (SELECT c.due_at FROM engine.detail_checks c WHERE c.wallet = t.wallet AND c.order_no = t.order_no) AS next_check_at,
               t.first_seen_at, t.changed_at, t.observed_at, t.observation, t.extra,
               now() - coalesce(t.occurred_at, t.first_seen_at) AS age, t.is_backfilled, t.is_success, t.wallet,
               t.slip44, t.contract_address
          FROM ledger.transactions t
         WHERE NOT t.is_final AND t.is_listed) AS seen
 WHERE (SELECT engine.seen_wallets(current_user)) IS NULL
    OR seen.wallet = ANY ((SELECT engine.seen_wallets(current_user))::text[]);
--> statement-breakpoint
COMMENT ON COLUMN ledger.pending_transactions.slip44 IS 'As in transactions: chain as its slip44 code; null where it is not known';
COMMENT ON COLUMN ledger.pending_transactions.contract_address IS 'As in transactions: contract of the coin on that chain; empty for a main-chain coin, null where it is not known';
--> statement-breakpoint
CREATE OR REPLACE FUNCTION ledger.contract_version() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT '1.3' $$;
--> statement-breakpoint
DO $migration$
DECLARE
  former text := pg_get_viewdef('ledger.contract'::regclass);
  present text := regexp_replace(former, 'CASE[[:space:]]+WHEN(?=[^;]{0,255}postings)',
    'CASE WHEN c.relname IN (''transactions'', ''pending_transactions'') AND a.attname IN (''slip44'', ''contract_address'') THEN ''1.3'' WHEN');
BEGIN
  ASSERT present <> former;
  EXECUTE 'CREATE OR REPLACE VIEW ledger.contract AS ' || present;
END $migration$;
--> statement-breakpoint
-- A ledger of an earlier version gets its chains after the migration.
INSERT INTO engine.chain_assignments (wallet, after_order_no)
SELECT w.wallet, '' FROM engine.wallet_names w WHERE EXISTS (SELECT FROM ledger.transactions t WHERE t.wallet = w.wallet);
--> statement-breakpoint
SELECT engine.make_own_views();
--> statement-breakpoint
SELECT engine.settle_rights();
