CREATE TABLE "engine"."intervals" (
	"queue" text PRIMARY KEY NOT NULL,
	"intervals" jsonb NOT NULL,
	"set_by" text NOT NULL,
	"set_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
COMMENT ON TABLE engine.intervals IS 'Intervals of the repeatable jobs, which hold for all daemons of a queue: those of the daemon that started last';
COMMENT ON COLUMN engine.intervals.queue IS 'Backend and prefix of the queue';
COMMENT ON COLUMN engine.intervals.intervals IS 'Milliseconds between two runs of each job, by name; null: the job is switched off';
COMMENT ON COLUMN engine.intervals.set_by IS 'Host and process of the daemon that set them';
COMMENT ON COLUMN engine.intervals.set_at IS 'When they were set';
--> statement-breakpoint
CREATE TABLE "engine"."classification" (
	"id" integer PRIMARY KEY NOT NULL,
	"after_order_no" text NOT NULL
);
--> statement-breakpoint
COMMENT ON TABLE engine.classification IS 'A classification of all transactions by other final states that is under way; no row when there is none';
COMMENT ON COLUMN engine.classification.id IS 'Always 1';
COMMENT ON COLUMN engine.classification.after_order_no IS 'Rows up to this order number are classified';
--> statement-breakpoint
ALTER TABLE "ledger"."transactions" ADD COLUMN "is_success" boolean DEFAULT false NOT NULL;--> statement-breakpoint
-- Writes the table anew once, without dead rows; an UPDATE of every row would take several times as long.
DO $$
DECLARE success text[];
BEGIN
  SELECT array_agg(f.state) INTO success FROM ledger.final_states f WHERE f.is_success;
  IF success IS NULL OR NOT EXISTS (SELECT FROM ledger.transactions) THEN RETURN; END IF;
  EXECUTE format('ALTER TABLE ledger.transactions ALTER COLUMN is_success TYPE boolean
                    USING coalesce(lower(btrim(state)) = ANY (%L::text[]), false)', success);
END $$;
--> statement-breakpoint
CREATE INDEX "reconciliation_runs_observed_at" ON "ledger"."reconciliation_runs" USING btree ("observed_at");--> statement-breakpoint
CREATE INDEX "rejects_resolved_at" ON "ledger"."rejects" USING btree ("resolved_at") WHERE "ledger"."rejects"."resolved_at" is not null;--> statement-breakpoint
CREATE INDEX "transactions_tx_hash" ON "ledger"."transactions" USING hash ("tx_hash");--> statement-breakpoint
CREATE INDEX "transactions_request_id" ON "ledger"."transactions" USING hash ("request_id");--> statement-breakpoint
CREATE INDEX "transactions_withdrawal_address" ON "ledger"."transactions" USING hash (ledger.address_key("to_address")) WHERE "ledger"."transactions"."stream" <> 'deposit';--> statement-breakpoint
CREATE INDEX "transactions_first_seen_at" ON "ledger"."transactions" USING brin ("first_seen_at") WITH (autosummarize=true);--> statement-breakpoint
CREATE INDEX "transactions_changed_at" ON "ledger"."transactions" USING brin ("changed_at") WITH (autosummarize=true);--> statement-breakpoint
CREATE OR REPLACE VIEW ledger.pending_transactions AS
SELECT t.order_no, t.stream, t.request_id, t.symbol, t.tx_hash, t.from_address, t.to_address, t.amount, t.type, t.state,
       t.confirm_num, t.fee, t.fee_symbol, t.occurred_at, t.is_final, t.is_listed, t.detail_synced_at, t.next_check_at,
       t.first_seen_at, t.changed_at, t.observed_at, t.observation, t.extra,
       now() - coalesce(t.occurred_at, t.first_seen_at) AS age, t.is_backfilled, t.is_success
  FROM ledger.transactions t
 WHERE NOT t.is_final AND t.is_listed;
--> statement-breakpoint
COMMENT ON COLUMN ledger.transactions.is_success IS 'True if WALLET_SUCCESS_STATES names the state: the transaction moved money';
COMMENT ON COLUMN ledger.pending_transactions.is_success IS 'Always false here';
