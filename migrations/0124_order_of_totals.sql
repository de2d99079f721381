-- A total that another process stored late could hide that the list had lost a row since.
ALTER TABLE ledger.streams ADD COLUMN total_observation bigint DEFAULT 0 NOT NULL;
--> statement-breakpoint
COMMENT ON COLUMN ledger.streams.total_observation IS 'Internal: number of the request whose answer told service_total; 0: not known. Of two totals the later one counts';
--> statement-breakpoint
SELECT engine.make_own_views();
