-- The daily totals have the chain of each row, so deposits per chain need no book-keeping of their own. The view
-- stays for queries that were built on it.
CREATE OR REPLACE VIEW ledger.deposit_chains AS
SELECT t.symbol, t.state, t.slip44, sum(t.transactions)::bigint AS transactions, sum(t.amount) AS amount, t.wallet
  FROM ledger.daily_totals t
 WHERE t.stream = 'deposit'
   AND (t.wallet, t.symbol) IN (SELECT a.wallet, a.symbol FROM ledger.assets a GROUP BY a.wallet, a.symbol HAVING count(*) > 1)
 GROUP BY t.wallet, t.symbol, t.state, t.slip44;
--> statement-breakpoint
COMMENT ON VIEW ledger.deposit_chains IS 'Internal: sums of the listed deposits of coins that exist on several chains, per state and chain; daily_totals has the same for all coins';
COMMENT ON COLUMN ledger.deposit_chains.slip44 IS 'Chain of the deposits, as in transactions; null where it is not known';
--> statement-breakpoint
DROP TRIGGER transactions_deposit_marked ON ledger.transactions;
DROP TRIGGER transactions_deposit_deleted ON ledger.transactions;
DROP TRIGGER transactions_truncated_chains ON ledger.transactions;
DROP TRIGGER addresses_new_marked ON ledger.addresses;
DROP TRIGGER addresses_deleted_marked ON ledger.addresses;
DROP TRIGGER addresses_changed_marked ON ledger.addresses;
DROP TRIGGER addresses_truncated_chains ON ledger.addresses;
--> statement-breakpoint
DROP FUNCTION engine.mark_deposit();
DROP FUNCTION engine.mark_addresses();
DROP FUNCTION engine.forget_chain_deposits();
DROP FUNCTION engine.deposits_by_chain(text);
DROP FUNCTION engine.keep_chain_deposits(text, interval);
DROP FUNCTION engine.keep_hours(text, timestamptz[], text[]);
DROP FUNCTION engine.hours_that_differ(text, text[], timestamptz[], engine.hourly_chain_deposits[]);
DROP FUNCTION engine.are_chain_deposits_whole(text, text[], timestamptz[], engine.hourly_chain_deposits[]);
DROP FUNCTION engine.hours_of_new_deposits(text, text[]);
DROP FUNCTION engine.marked_hours(text);
DROP FUNCTION engine.read_chain_deposits(text, timestamptz[], text[]);
DROP FUNCTION engine.shared_symbols(text);
DROP FUNCTION engine.hour_of(timestamptz);
--> statement-breakpoint
DROP VIEW own.chain_deposit_marks;
DROP VIEW own.chain_deposits;
DROP VIEW own.hourly_chain_deposits;
DROP TABLE engine.chain_deposit_marks;
DROP TABLE engine.chain_deposits;
DROP TABLE engine.hourly_chain_deposits;
--> statement-breakpoint
-- Rows without a chain are read in the order in which they were first seen: an index in this order takes a new row at its end.
DROP INDEX "ledger"."transactions_without_chain";
--> statement-breakpoint
CREATE INDEX "transactions_without_chain" ON "ledger"."transactions" USING btree ("wallet","first_seen_at") WHERE "ledger"."transactions"."slip44" is null;
--> statement-breakpoint
ALTER TABLE "engine"."chain_assignments" ALTER COLUMN "after_order_no" SET DEFAULT '';
--> statement-breakpoint
ALTER TABLE "engine"."chain_assignments" ADD COLUMN "after_first_seen_at" timestamp with time zone DEFAULT '-infinity' NOT NULL;
--> statement-breakpoint
COMMENT ON COLUMN engine.chain_assignments.after_first_seen_at IS 'Rows that were first seen before are done';
COMMENT ON COLUMN engine.chain_assignments.after_order_no IS 'Rows first seen at that moment are done up to this order number';
-- What was done in the former order is no beginning of the present one.
UPDATE engine.chain_assignments SET after_order_no = '', repeat_after = NULL;
--> statement-breakpoint
DO $migration$
DECLARE
  former text := pg_get_functiondef('engine.note_new_assets()'::regprocedure);
  present text := replace(former, 'SET after_order_no = ''''', 'SET after_first_seen_at = ''-infinity'', after_order_no = ''''');
BEGIN
  ASSERT present <> former;
  EXECUTE present;
END $migration$;
--> statement-breakpoint
SELECT engine.make_own_views();
