CREATE TABLE "ledger"."reconciliation_runs" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "ledger"."reconciliation_runs_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"symbol" text NOT NULL,
	"observed_at" timestamp with time zone NOT NULL,
	"expected" numeric NOT NULL,
	"reported" numeric NOT NULL,
	"difference" numeric NOT NULL,
	"is_explained" boolean NOT NULL,
	"explanation" text,
	"last_order_no" text
);
--> statement-breakpoint
CREATE INDEX "reconciliation_runs_symbol" ON "ledger"."reconciliation_runs" USING btree ("symbol","id");