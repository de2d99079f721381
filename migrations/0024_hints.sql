CREATE TABLE "engine"."hint_turns" (
	"subject" text PRIMARY KEY NOT NULL,
	"next_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "engine"."hints" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "engine"."hints_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"subject" text NOT NULL,
	"order_no" text,
	"hinted_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	"taken_at" timestamp with time zone
);
--> statement-breakpoint
INSERT INTO engine.hint_turns (subject, next_at) VALUES ('deposit', now()), ('withdraw', now()), ('details', now());
--> statement-breakpoint
-- Inserts only, and waits for no other session: a caller may keep its transaction open. A hint that nobody has taken
-- yet stands for later ones. Under a snapshot of the whole transaction it may have been taken unseen: then another one
-- is stored, up to a bound.
CREATE FUNCTION engine.add_hints(order_nos text[]) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  sees_latest boolean := current_setting('transaction_isolation') = 'read committed';
  lists_added integer;
  orders_added integer;
BEGIN
  INSERT INTO engine.hints (subject)
  SELECT l.subject FROM (VALUES ('deposit'), ('withdraw')) AS l (subject)
   WHERE (SELECT count(*) FROM engine.hints h WHERE h.subject = l.subject AND h.taken_at IS NULL)
         < CASE WHEN sees_latest THEN 1 ELSE 20 END;
  GET DIAGNOSTICS lists_added = ROW_COUNT;
  INSERT INTO engine.hints (subject, order_no)
  SELECT DISTINCT 'details', o.order_no FROM unnest(order_nos) AS o (order_no)
   WHERE o.order_no <> '' AND octet_length(o.order_no) <= 512
     AND NOT EXISTS (SELECT FROM engine.hints h
                      WHERE h.subject = 'details' AND h.order_no = o.order_no AND h.taken_at IS NULL)
   LIMIT greatest(0, 1000 - (SELECT count(*) FROM engine.hints));
  GET DIAGNOSTICS orders_added = ROW_COUNT;
  IF lists_added + orders_added > 0 THEN PERFORM pg_notify('ledger_hints', ''); END IF;
END $$;
--> statement-breakpoint
CREATE FUNCTION ledger.hint(order_nos text[] DEFAULT '{}') RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  PERFORM engine.add_hints(ARRAY(SELECT o.order_no FROM unnest(hint.order_nos) AS o (order_no) LIMIT 50));
END $$;
--> statement-breakpoint
COMMENT ON TABLE engine.hints IS 'Hints that something has happened at the service, until a daemon has served them: a list whose start to read, or an order whose detail to fetch';
COMMENT ON COLUMN engine.hints.id IS 'Running number';
COMMENT ON COLUMN engine.hints.subject IS 'What to look at: deposit, withdraw (the start of that list), or details';
COMMENT ON COLUMN engine.hints.order_no IS 'Order number as the caller gave it, which may not exist; null for a list';
COMMENT ON COLUMN engine.hints.hinted_at IS 'When it was given';
COMMENT ON COLUMN engine.hints.taken_at IS 'When a daemon began to serve it; null before. A list is taken again after 30 s, because that daemon may have failed';
COMMENT ON TABLE engine.hint_turns IS 'Pace of the requests that hints cost, over all processes';
COMMENT ON COLUMN engine.hint_turns.subject IS 'As hints.subject';
COMMENT ON COLUMN engine.hint_turns.next_at IS 'Before this time no hint causes another request';
COMMENT ON FUNCTION engine.add_hints IS 'Stores a hint for both lists and for the orders, unless one waits there already, and wakes the daemons';
COMMENT ON FUNCTION ledger.hint IS 'Says that something has happened at the service: after the commit the daemons read the start of both lists at once, at most once a second each, and fetch the details of the named orders first (at most 50). Nothing that it is told is believed or kept';
