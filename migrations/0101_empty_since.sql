-- A command that finds a list empty long after its last success believed it at once.
ALTER TABLE ledger.streams ADD COLUMN empty_since timestamp with time zone;
--> statement-breakpoint
COMMENT ON COLUMN ledger.streams.empty_since IS 'Since when the service has shown this list of transactions without any row; null: it has shown rows last. Rows of the list count as no longer listed only after ten minutes of it';
--> statement-breakpoint
SELECT engine.make_own_views();
