CREATE SCHEMA IF NOT EXISTS "ledger";
--> statement-breakpoint
CREATE SEQUENCE "ledger"."observations" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1;--> statement-breakpoint
CREATE TABLE "ledger"."address_requests" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "ledger"."address_requests_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"slip44" integer NOT NULL,
	"num" integer NOT NULL,
	"state" text NOT NULL,
	"requested_at" timestamp with time zone NOT NULL,
	"finished_at" timestamp with time zone,
	"received" integer,
	"error" text,
	CONSTRAINT "address_requests_state" CHECK ("ledger"."address_requests"."state" in ('sent', 'done', 'failed', 'unknown'))
);
--> statement-breakpoint
CREATE TABLE "ledger"."addresses" (
	"slip44" integer NOT NULL,
	"address" text NOT NULL,
	"status" text NOT NULL,
	"assigned_to" text,
	"assigned_at" timestamp with time zone,
	"first_deposit_order_no" text,
	"generated_by" bigint,
	"first_seen_at" timestamp with time zone NOT NULL,
	CONSTRAINT "addresses_slip44_address_pk" PRIMARY KEY("slip44","address"),
	CONSTRAINT "addresses_status" CHECK ("ledger"."addresses"."status" in ('available', 'assigned', 'used', 'foreign'))
);
--> statement-breakpoint
CREATE TABLE "ledger"."balance_changes" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "ledger"."balance_changes_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"slip44" integer NOT NULL,
	"symbol" text NOT NULL,
	"contract_address" text NOT NULL,
	"balance" numeric,
	"frozen" numeric,
	"observed_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "ledger"."balances" (
	"slip44" integer NOT NULL,
	"symbol" text NOT NULL,
	"contract_address" text NOT NULL,
	"name" text,
	"chain_name" text,
	"chain_symbol" text,
	"balance" numeric,
	"frozen" numeric,
	"decimals" integer,
	"is_listed" boolean DEFAULT true NOT NULL,
	"observed_at" timestamp with time zone NOT NULL,
	"changed_at" timestamp with time zone NOT NULL,
	"observation" bigint NOT NULL,
	CONSTRAINT "balances_slip44_symbol_contract_address_pk" PRIMARY KEY("slip44","symbol","contract_address")
);
--> statement-breakpoint
CREATE TABLE "ledger"."coins" (
	"slip44" integer NOT NULL,
	"symbol" text NOT NULL,
	"contract_address" text NOT NULL,
	"name" text,
	"decimals" integer,
	"deposit_state" integer,
	"withdraw_state" integer,
	"is_listed" boolean DEFAULT true NOT NULL,
	"observed_at" timestamp with time zone NOT NULL,
	"changed_at" timestamp with time zone NOT NULL,
	"observation" bigint NOT NULL,
	CONSTRAINT "coins_slip44_symbol_contract_address_pk" PRIMARY KEY("slip44","symbol","contract_address")
);
--> statement-breakpoint
CREATE TABLE "ledger"."rejects" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "ledger"."rejects_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"source" text NOT NULL,
	"order_no" text,
	"field" text,
	"reason" text NOT NULL,
	"payload" text NOT NULL,
	"fingerprint" text NOT NULL,
	"first_seen_at" timestamp with time zone NOT NULL,
	"last_seen_at" timestamp with time zone NOT NULL,
	"times" integer DEFAULT 1 NOT NULL,
	"resolved_at" timestamp with time zone,
	CONSTRAINT "rejects_fingerprint_unique" UNIQUE("fingerprint")
);
--> statement-breakpoint
CREATE TABLE "ledger"."request_tickets" (
	"id" smallint PRIMARY KEY DEFAULT 1 NOT NULL,
	"last_nonce" bigint NOT NULL,
	"next_slot_at" timestamp with time zone NOT NULL,
	CONSTRAINT "request_tickets_one_row" CHECK ("ledger"."request_tickets"."id" = 1)
);
--> statement-breakpoint
CREATE TABLE "ledger"."streams" (
	"name" text PRIMARY KEY NOT NULL,
	"list_order" text,
	"page_size" integer,
	"service_total" bigint,
	"ledger_count" bigint DEFAULT 0 NOT NULL,
	"is_complete" boolean DEFAULT false NOT NULL,
	"last_walk_at" timestamp with time zone,
	"checkpoint" jsonb,
	"last_success_at" timestamp with time zone,
	"last_error" text,
	"last_error_at" timestamp with time zone,
	"lease_owner" text,
	"lease_until" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "ledger"."sync_runs" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "ledger"."sync_runs_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"job" text NOT NULL,
	"started_at" timestamp with time zone NOT NULL,
	"finished_at" timestamp with time zone NOT NULL,
	"outcome" text NOT NULL,
	"requests" bigint NOT NULL,
	"rows_seen" bigint NOT NULL,
	"rows_inserted" bigint NOT NULL,
	"rows_updated" bigint NOT NULL,
	"error" text
);
--> statement-breakpoint
CREATE TABLE "ledger"."final_states" (
	"state" text PRIMARY KEY NOT NULL,
	"is_success" boolean NOT NULL
);
--> statement-breakpoint
CREATE TABLE "ledger"."transaction_changes" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "ledger"."transaction_changes_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"order_no" text NOT NULL,
	"observed_at" timestamp with time zone NOT NULL,
	"field" text NOT NULL,
	"old_value" text,
	"new_value" text
);
--> statement-breakpoint
CREATE TABLE "ledger"."transactions" (
	"order_no" text PRIMARY KEY NOT NULL,
	"stream" text NOT NULL,
	"request_id" text,
	"symbol" text,
	"tx_hash" text,
	"from_address" text,
	"to_address" text,
	"amount" numeric,
	"type" text,
	"state" text,
	"confirm_num" integer,
	"fee" numeric,
	"fee_symbol" text,
	"occurred_at" timestamp with time zone,
	"is_final" boolean NOT NULL,
	"is_listed" boolean DEFAULT true NOT NULL,
	"detail_synced_at" timestamp with time zone,
	"next_check_at" timestamp with time zone,
	"first_seen_at" timestamp with time zone NOT NULL,
	"changed_at" timestamp with time zone NOT NULL,
	"observed_at" timestamp with time zone NOT NULL,
	"observation" bigint NOT NULL,
	"extra" jsonb
);
--> statement-breakpoint
CREATE UNIQUE INDEX "address_requests_open" ON "ledger"."address_requests" USING btree ("slip44") WHERE "ledger"."address_requests"."state" in ('sent', 'unknown');--> statement-breakpoint
CREATE INDEX "addresses_address" ON "ledger"."addresses" USING btree (lower("address"));--> statement-breakpoint
CREATE INDEX "addresses_available" ON "ledger"."addresses" USING btree ("slip44") WHERE "ledger"."addresses"."status" = 'available';--> statement-breakpoint
CREATE UNIQUE INDEX "addresses_assigned_to" ON "ledger"."addresses" USING btree ("slip44","assigned_to") WHERE "ledger"."addresses"."assigned_to" is not null;--> statement-breakpoint
CREATE INDEX "balance_changes_key" ON "ledger"."balance_changes" USING btree ("slip44","symbol","contract_address","observed_at");--> statement-breakpoint
CREATE INDEX "rejects_open" ON "ledger"."rejects" USING btree ("order_no") WHERE "ledger"."rejects"."resolved_at" is null;--> statement-breakpoint
CREATE INDEX "sync_runs_finished_at" ON "ledger"."sync_runs" USING btree ("finished_at");--> statement-breakpoint
CREATE INDEX "transaction_changes_order_no" ON "ledger"."transaction_changes" USING btree ("order_no");--> statement-breakpoint
CREATE INDEX "transaction_changes_observed_at" ON "ledger"."transaction_changes" USING btree ("observed_at");--> statement-breakpoint
CREATE INDEX "transactions_stream_occurred_at" ON "ledger"."transactions" USING btree ("stream","occurred_at");--> statement-breakpoint
CREATE INDEX "transactions_next_check_at" ON "ledger"."transactions" USING btree ("next_check_at") WHERE "ledger"."transactions"."next_check_at" is not null;--> statement-breakpoint
CREATE INDEX "transactions_deposit_address" ON "ledger"."transactions" USING btree (lower("to_address")) WHERE "ledger"."transactions"."stream" = 'deposit';