-- A detail's type is not stored, so a row that moves to the list that showed it second has its type from that list alone.
ALTER TABLE "ledger"."transactions" ADD COLUMN "other_list_type" text;
--> statement-breakpoint
COMMENT ON COLUMN ledger.transactions.other_list_type IS 'Internal: type with which also_listed_in shows the row, for the time when only that list shows it; usually null';
--> statement-breakpoint
SELECT engine.make_own_views();
--> statement-breakpoint
SELECT engine.settle_rights();
