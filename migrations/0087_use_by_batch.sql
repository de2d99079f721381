-- Other final states set the use of all addresses in one statement, which large ledgers did not end within its timeout.
ALTER TABLE "engine"."classification" ADD COLUMN "turned_states" text[] DEFAULT '{}' NOT NULL;
--> statement-breakpoint
COMMENT ON COLUMN engine.classification.turned_states IS 'States of which deposits count now and did not before, or the other way round';
--> statement-breakpoint
DROP FUNCTION engine.recount_all_use();
--> statement-breakpoint
SELECT engine.make_own_views();
