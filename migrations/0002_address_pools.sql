CREATE TABLE "ledger"."pools" (
	"slip44" integer PRIMARY KEY NOT NULL,
	"threshold" integer NOT NULL,
	"target" integer NOT NULL,
	"is_filling" boolean DEFAULT false NOT NULL,
	"refusals" integer DEFAULT 0 NOT NULL,
	"next_try_at" timestamp with time zone,
	"num_max" integer DEFAULT 200 NOT NULL,
	"last_error" text,
	"last_error_at" timestamp with time zone
);
--> statement-breakpoint
DROP INDEX "ledger"."addresses_available";--> statement-breakpoint
ALTER TABLE "ledger"."address_requests" ADD COLUMN "owner" text;--> statement-breakpoint
ALTER TABLE "ledger"."address_requests" ADD COLUMN "list_read_at" timestamp with time zone;--> statement-breakpoint
CREATE INDEX "addresses_assigned_at" ON "ledger"."addresses" USING btree ("slip44","assigned_at") WHERE "ledger"."addresses"."assigned_at" is not null;--> statement-breakpoint
CREATE INDEX "addresses_available" ON "ledger"."addresses" USING btree ("slip44","first_seen_at","address") WHERE "ledger"."addresses"."status" = 'available';