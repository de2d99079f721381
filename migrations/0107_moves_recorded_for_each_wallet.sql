-- A list of handed-out addresses is that of one wallet: what the others have handed out is still unknown.
ALTER TABLE engine.moves ADD COLUMN recorded_for text[] NOT NULL DEFAULT '{}'::text[];
--> statement-breakpoint
COMMENT ON COLUMN engine.moves.recorded_for IS 'Wallets for which an operator has recorded which addresses were handed out';
--> statement-breakpoint
COMMENT ON COLUMN engine.moves.acknowledged_at IS 'When this was recorded for every wallet that has addresses, with `wallet-ledger recover`';
