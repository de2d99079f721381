ALTER TABLE "ledger"."transactions" ALTER COLUMN "is_final" SET DEFAULT false;--> statement-breakpoint
ALTER TABLE "ledger"."transactions" ALTER COLUMN "first_seen_at" SET DEFAULT now();--> statement-breakpoint
ALTER TABLE "ledger"."transactions" ALTER COLUMN "changed_at" SET DEFAULT now();--> statement-breakpoint
ALTER TABLE "ledger"."transactions" ALTER COLUMN "observed_at" SET DEFAULT now();--> statement-breakpoint
ALTER TABLE "ledger"."transactions" ALTER COLUMN "observation" SET DEFAULT 0;