CREATE TABLE "engine"."lease_wishes" (
	"stream" text PRIMARY KEY NOT NULL,
	"until" timestamp with time zone NOT NULL
);
--> statement-breakpoint
COMMENT ON TABLE engine.lease_wishes IS 'Lists whose lease a poll waits for: a scan that holds it gives it back, and no other scan takes it';
COMMENT ON COLUMN engine.lease_wishes.stream IS 'The list';
COMMENT ON COLUMN engine.lease_wishes.until IS 'Until when the wish stands; the poll repeats it while it waits';
