-- Daemons of an earlier version wait here, and are refused afterwards because the column that they write is gone.
LOCK TABLE ledger.transactions IN ACCESS EXCLUSIVE MODE;
--> statement-breakpoint
CREATE TABLE "engine"."detail_checks" (
	"order_no" text PRIMARY KEY NOT NULL,
	"is_final" boolean NOT NULL,
	"turn" smallint NOT NULL,
	"due_at" timestamp with time zone DEFAULT now() NOT NULL,
	"claimed_until" timestamp with time zone,
	"refusals" smallint DEFAULT 0 NOT NULL,
	"observation" bigint DEFAULT 0 NOT NULL
);
--> statement-breakpoint
-- Room for new versions of a row beside it: a claim then changes no index.
ALTER TABLE engine.detail_checks SET (fillfactor = 80);
--> statement-breakpoint
COMMENT ON TABLE engine.detail_checks IS 'Details that are still to be fetched, one row per transaction; none when nothing is left to fetch, and none for a final one of the history until a worker claims it';
COMMENT ON COLUMN engine.detail_checks.order_no IS 'Transaction whose detail is to be fetched';
COMMENT ON COLUMN engine.detail_checks.is_final IS 'True if the transaction is final: it is complete as soon as its detail is stored';
COMMENT ON COLUMN engine.detail_checks.turn IS 'Which rows go first: 0 new ones and those that the list shows changed, 1 open ones that are checked again, 2 final ones of the history that a worker has claimed, 3 those that the service refused several times';
COMMENT ON COLUMN engine.detail_checks.due_at IS 'When the detail is to be fetched next';
COMMENT ON COLUMN engine.detail_checks.claimed_until IS 'Until when a worker keeps the row from others; null or past: nobody does';
COMMENT ON COLUMN engine.detail_checks.refusals IS 'How often in a row the service gave no detail';
COMMENT ON COLUMN engine.detail_checks.observation IS 'Number of the latest request whose answer changed nothing; an answer with a lower number never overwrites the transaction';
--> statement-breakpoint
INSERT INTO engine.detail_checks (order_no, is_final, turn, due_at)
SELECT order_no, is_final, CASE WHEN is_final THEN 0 ELSE 1 END, next_check_at
  FROM ledger.transactions
 WHERE next_check_at IS NOT NULL AND NOT (is_final AND is_backfilled AND is_listed AND detail_synced_at IS NULL);
--> statement-breakpoint
CREATE INDEX "detail_checks_turn" ON "engine"."detail_checks" USING btree ("turn","due_at");
--> statement-breakpoint
CREATE INDEX "transactions_without_detail" ON "ledger"."transactions" USING btree ("occurred_at") WHERE "ledger"."transactions"."is_final" and "ledger"."transactions"."is_backfilled" and "ledger"."transactions"."is_listed" and "ledger"."transactions"."detail_synced_at" is null;
--> statement-breakpoint
CREATE VIEW ledger.waiting_details AS
SELECT c.order_no, c.is_final, greatest(c.due_at, c.claimed_until) AS due_at, c.refusals FROM engine.detail_checks c
UNION ALL
SELECT t.order_no, true, t.first_seen_at, 0::smallint
  FROM ledger.transactions t
 WHERE t.is_final AND t.is_backfilled AND t.is_listed AND t.detail_synced_at IS NULL
   AND NOT EXISTS (SELECT FROM engine.detail_checks c WHERE c.order_no = t.order_no);
--> statement-breakpoint
COMMENT ON VIEW ledger.waiting_details IS 'Transactions whose detail is still to be fetched: open ones, and final ones that are incomplete';
COMMENT ON COLUMN ledger.waiting_details.order_no IS 'The transaction';
COMMENT ON COLUMN ledger.waiting_details.is_final IS 'True if the transaction is final: it is complete as soon as its detail is stored';
COMMENT ON COLUMN ledger.waiting_details.due_at IS 'When the detail is to be fetched next; while a worker fetches it, a time shortly ahead';
COMMENT ON COLUMN ledger.waiting_details.refusals IS 'How often in a row the service gave no detail; the pause grows with it, up to two days';
--> statement-breakpoint
CREATE OR REPLACE VIEW ledger.pending_transactions AS
SELECT t.order_no, t.stream, t.request_id, t.symbol, t.tx_hash, t.from_address, t.to_address, t.amount, t.type, t.state,
       t.confirm_num, t.fee, t.fee_symbol, t.occurred_at, t.is_final, t.is_listed, t.detail_synced_at,
       (SELECT c.due_at FROM engine.detail_checks c WHERE c.order_no = t.order_no) AS next_check_at,
       t.first_seen_at, t.changed_at, t.observed_at, t.observation, t.extra,
       now() - coalesce(t.occurred_at, t.first_seen_at) AS age, t.is_backfilled, t.is_success
  FROM ledger.transactions t
 WHERE NOT t.is_final AND t.is_listed;
--> statement-breakpoint
-- A detail is stored together with the change that it brings: whatever changed later waits for its detail.
DO $$
DECLARE
  former text;
  present text;
BEGIN
  former := pg_get_functiondef('ledger.reconcile(timestamptz)'::regprocedure);
  present := replace(former, 't.detail_synced_at IS NULL OR t.next_check_at IS NOT NULL AS is_due',
                     'NOT t.is_final OR t.detail_synced_at IS NULL OR t.detail_synced_at < t.changed_at AS is_due');
  ASSERT present <> former;
  EXECUTE present;
  former := pg_get_functiondef('ledger.standing_difference(text, integer, text, numeric, numeric, timestamptz, timestamptz)'::regprocedure);
  present := replace(replace(former, 'FROM ledger.transactions t', 'FROM ledger.waiting_details w JOIN ledger.transactions t USING (order_no)'),
                     't.next_check_at IS NOT NULL AND t.is_listed', 't.is_listed');
  ASSERT present <> former;
  EXECUTE present;
END $$;
--> statement-breakpoint
DROP INDEX "ledger"."transactions_next_check_at";
--> statement-breakpoint
DO $$
BEGIN
  ALTER TABLE ledger.transactions DROP COLUMN next_check_at;
EXCEPTION WHEN dependent_objects_still_exist THEN
  -- Views that others made show the column: they keep it, empty.
  ALTER TABLE ledger.transactions RENAME COLUMN next_check_at TO former_next_check_at;
  UPDATE ledger.transactions SET former_next_check_at = NULL WHERE former_next_check_at IS NOT NULL;
  COMMENT ON COLUMN ledger.transactions.former_next_check_at IS 'Always null; kept for views that show it';
END $$;
