-- A command that ended with refused details could not say why they were refused.
ALTER TABLE engine.detail_checks ADD COLUMN refusal text;
--> statement-breakpoint
COMMENT ON COLUMN engine.detail_checks.refusal IS 'Reason of the last refusal';
--> statement-breakpoint
SELECT engine.make_own_views();
