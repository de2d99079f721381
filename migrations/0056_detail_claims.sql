ALTER TABLE "engine"."detail_checks" ADD COLUMN "claim" uuid;
--> statement-breakpoint
COMMENT ON COLUMN engine.detail_checks.claim IS 'Id of the claim that claimed_until belongs to; its worker releases no other';
--> statement-breakpoint
SELECT engine.make_own_views();
