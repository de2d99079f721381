ALTER TABLE "ledger"."streams" ADD COLUMN "final_changes" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "ledger"."transactions" ADD COLUMN "seal" uuid;--> statement-breakpoint
CREATE FUNCTION ledger.seal(order_no text, request_id text, symbol text, tx_hash text, from_address text, to_address text,
                            amount numeric, type text, state text, confirm_num integer, fee numeric, fee_symbol text,
                            occurred_at timestamptz, extra jsonb)
RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE
AS $$
  SELECT md5(ROW($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, extract(epoch FROM $13), $14)::text)::uuid
$$;
--> statement-breakpoint
COMMENT ON FUNCTION ledger.seal IS 'Digest of what the service said of a transaction, see transactions.seal';
--> statement-breakpoint
COMMENT ON COLUMN ledger.transactions.seal IS 'Digest of the row''s values as they were when its detail was stored; one that does not fit any more tells verify and audit that somebody else has written the row. Null before the first detail and while a change of the list row waits for its detail';
--> statement-breakpoint
COMMENT ON COLUMN ledger.streams.final_changes IS 'How often a transaction left a final state for another state: final was not final, see state_transitions';
