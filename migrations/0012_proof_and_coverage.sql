DROP VIEW ledger.sync_health;
--> statement-breakpoint
CREATE TABLE "ledger"."coverage" (
	"stream" text NOT NULL,
	"day" date NOT NULL,
	"transactions" bigint NOT NULL,
	"verified_at" timestamp with time zone,
	CONSTRAINT "coverage_stream_day_pk" PRIMARY KEY("stream","day")
);
--> statement-breakpoint
CREATE UNLOGGED TABLE "ledger"."scan_notes" (
	"stream" text NOT NULL,
	"key" text NOT NULL,
	CONSTRAINT "scan_notes_stream_key_pk" PRIMARY KEY("stream","key")
);
--> statement-breakpoint
CREATE TABLE "ledger"."stream_proofs" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "ledger"."stream_proofs_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"name" text NOT NULL,
	"observed_at" timestamp with time zone NOT NULL,
	"is_complete" boolean NOT NULL,
	"service_total" bigint,
	"ledger_count" bigint NOT NULL,
	"reason" text
);
--> statement-breakpoint
ALTER TABLE "ledger"."streams" DROP COLUMN "is_complete";--> statement-breakpoint
ALTER TABLE "ledger"."streams" ADD COLUMN "is_backed" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "ledger"."streams" ADD COLUMN "accepted_difference" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "ledger"."streams" ADD COLUMN "doubt" text;--> statement-breakpoint
ALTER TABLE "ledger"."streams" ADD COLUMN "conflicts" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
-- What earlier walks left behind moves out of the checkpoint, which is the program's own.
UPDATE ledger.streams
   SET is_backed = checkpoint ->> 'gap' IS NOT NULL,
       accepted_difference = coalesce((checkpoint ->> 'gap')::bigint, 0),
       checkpoint = jsonb_build_object(
         'version', 2,
         'requestedPageSize', checkpoint -> 'askSize', 'sizeReducedAt', NULL,
         'totalAtLastMatch', checkpoint -> 'settledTotal',
         'walk', NULL,
         'walks', checkpoint -> 'walks',
         'clampedSize', CASE WHEN checkpoint -> 'servedSize' <> 'null'::jsonb
           THEN jsonb_build_object('claimed', checkpoint #> '{servedSize,said}', 'actual', checkpoint #> '{servedSize,served}') END,
         'lastSeen', NULL, 'mismatch', NULL, 'fallen', 0, 'isTotalOlder', false, 'differingDays', '[]'::jsonb, 'isScanUnclean', false, 'unmatched', 0,
         'unseen', '[]'::jsonb, 'isShuffled', false, 'scannedPages', 0, 'spentRequests', 0, 'fruitlessScans', 0, 'headFingerprint', NULL,
         'auditPage', 1)
 WHERE checkpoint IS NOT NULL;--> statement-breakpoint
ALTER TABLE "ledger"."streams" ADD COLUMN "is_complete" boolean GENERATED ALWAYS AS (is_backed and doubt is null and conflicts = 0 and accepted_difference = 0
  and service_total is not null and service_total = ledger_count) STORED NOT NULL;--> statement-breakpoint
ALTER TABLE "ledger"."streams" ADD COLUMN "not_complete_because" text GENERATED ALWAYS AS (case
  when not is_backed then 'the list has not been read from end to end yet'
  when doubt is not null then doubt
  when conflicts > 0 then conflicts::text || ' rows are shown by this list and by another one'
  when service_total is null then 'the service gives no usable total'
  when accepted_difference > 0 and service_total - ledger_count = accepted_difference
    then 'the service counts ' || accepted_difference::text || ' more rows than its list shows with a usable key'
  when accepted_difference < 0 and service_total - ledger_count = accepted_difference
    then 'the service counts ' || (-accepted_difference)::text || ' fewer rows than its list shows'
  when ledger_count < service_total
    then (service_total - ledger_count)::text || ' of ' || service_total::text || ' rows are missing'
  when ledger_count > service_total
    then 'the ledger lists ' || (ledger_count - service_total)::text || ' more rows than the service counts'
  when accepted_difference <> 0 then 'the counts are equal, but an earlier difference has not been explained'
end) STORED;--> statement-breakpoint
ALTER TABLE "ledger"."streams" ADD COLUMN "verified_through" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "ledger"."streams" ADD COLUMN "passes" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "ledger"."streams" ADD COLUMN "count_at_last_pass" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "ledger"."transactions" ADD COLUMN "also_listed_in" text;--> statement-breakpoint
CREATE INDEX "stream_proofs_name" ON "ledger"."stream_proofs" USING btree ("name","id");--> statement-breakpoint
CREATE INDEX "transactions_undated" ON "ledger"."transactions" USING btree ("stream") WHERE "ledger"."transactions"."occurred_at" is null;--> statement-breakpoint
CREATE INDEX "transactions_in_two_lists" ON "ledger"."transactions" USING btree ("also_listed_in") WHERE "ledger"."transactions"."also_listed_in" is not null;
--> statement-breakpoint
UPDATE ledger.streams SET count_at_last_pass = ledger_count;
--> statement-breakpoint
INSERT INTO ledger.coverage (stream, day, transactions)
SELECT stream, (occurred_at AT TIME ZONE 'UTC')::date, count(*)
  FROM ledger.transactions
 WHERE is_listed AND occurred_at IS NOT NULL
 GROUP BY 1, 2;
--> statement-breakpoint
-- The counts per list and per day follow every writer, hand-written SQL included, in the same statement. Writers meet
-- on the rows of streams in the order of their names. A row without an observation number was written by hand: its
-- day is no longer what the service was seen to list.
CREATE FUNCTION ledger.count_inserted() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO ledger.streams AS s (name, ledger_count)
  SELECT n.stream, count(*) FROM new_rows n WHERE n.is_listed GROUP BY n.stream ORDER BY n.stream
  ON CONFLICT (name) DO UPDATE SET ledger_count = s.ledger_count + excluded.ledger_count;
  INSERT INTO ledger.coverage AS c (stream, day, transactions)
  SELECT n.stream, (n.occurred_at AT TIME ZONE 'UTC')::date, count(*)
    FROM new_rows n WHERE n.is_listed AND n.occurred_at IS NOT NULL
   GROUP BY 1, 2 ORDER BY 1, 2
  ON CONFLICT (stream, day) DO UPDATE SET transactions = c.transactions + excluded.transactions;
  UPDATE ledger.coverage c SET verified_at = NULL
    FROM new_rows n
   WHERE n.observation = 0 AND n.is_listed AND c.verified_at IS NOT NULL
     AND c.stream = n.stream AND c.day = (n.occurred_at AT TIME ZONE 'UTC')::date;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE FUNCTION ledger.count_deleted() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE ledger.streams s
     SET ledger_count = s.ledger_count - d.listed, conflicts = s.conflicts - d.conflicts
    FROM (SELECT x.stream, count(*) FILTER (WHERE x.is_counted) AS listed, count(*) FILTER (WHERE x.is_conflict) AS conflicts
            FROM (SELECT o.stream, o.is_listed AS is_counted, o.also_listed_in IS NOT NULL AS is_conflict FROM old_rows o
                  UNION ALL
                  SELECT o.also_listed_in, false, true FROM old_rows o WHERE o.also_listed_in IS NOT NULL) AS x
           GROUP BY x.stream) AS d
   WHERE s.name = d.stream AND (d.listed > 0 OR d.conflicts > 0);
  UPDATE ledger.coverage c SET transactions = c.transactions - d.deleted, verified_at = NULL
    FROM (SELECT o.stream, (o.occurred_at AT TIME ZONE 'UTC')::date AS day, count(*) AS deleted
            FROM old_rows o WHERE o.is_listed GROUP BY 1, 2) AS d
   WHERE c.stream = d.stream AND c.day = d.day;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE FUNCTION ledger.count_truncated() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE ledger.streams SET ledger_count = 0, conflicts = 0 WHERE name IN ('deposit', 'withdraw');
  DELETE FROM ledger.coverage;
  RETURN NULL;
END $$;
--> statement-breakpoint
-- Per row, because only rows that moved reach it: most updates change neither list nor day.
CREATE FUNCTION ledger.count_moved() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO ledger.streams AS s (name, ledger_count, conflicts)
  SELECT d.name, sum(d.listed), sum(d.conflict)
    FROM (VALUES (OLD.stream, - OLD.is_listed::integer, - (OLD.also_listed_in IS NOT NULL)::integer),
                 (NEW.stream, NEW.is_listed::integer, (NEW.also_listed_in IS NOT NULL)::integer),
                 (OLD.also_listed_in, 0, -1),
                 (NEW.also_listed_in, 0, 1)) AS d (name, listed, conflict)
   WHERE d.name IS NOT NULL
   GROUP BY d.name HAVING sum(d.listed) <> 0 OR sum(d.conflict) <> 0
   ORDER BY d.name
  ON CONFLICT (name) DO UPDATE
    SET ledger_count = s.ledger_count + excluded.ledger_count, conflicts = s.conflicts + excluded.conflicts;
  INSERT INTO ledger.coverage AS c (stream, day, transactions)
  SELECT d.stream, (d.at AT TIME ZONE 'UTC')::date, sum(d.listed)
    FROM (VALUES (OLD.stream, OLD.occurred_at, - OLD.is_listed::integer),
                 (NEW.stream, NEW.occurred_at, NEW.is_listed::integer)) AS d (stream, at, listed)
   WHERE d.at IS NOT NULL
   GROUP BY 1, 2 HAVING sum(d.listed) <> 0
   ORDER BY 1, 2
  ON CONFLICT (stream, day) DO UPDATE SET transactions = c.transactions + excluded.transactions, verified_at = NULL;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER transactions_inserted AFTER INSERT ON ledger.transactions
  REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION ledger.count_inserted();
--> statement-breakpoint
CREATE TRIGGER transactions_deleted AFTER DELETE ON ledger.transactions
  REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION ledger.count_deleted();
--> statement-breakpoint
CREATE TRIGGER transactions_truncated AFTER TRUNCATE ON ledger.transactions
  FOR EACH STATEMENT EXECUTE FUNCTION ledger.count_truncated();
--> statement-breakpoint
CREATE TRIGGER transactions_moved AFTER UPDATE ON ledger.transactions
  FOR EACH ROW WHEN (OLD.is_listed <> NEW.is_listed OR OLD.stream <> NEW.stream
                  OR OLD.occurred_at IS DISTINCT FROM NEW.occurred_at
                  OR OLD.also_listed_in IS DISTINCT FROM NEW.also_listed_in)
  EXECUTE FUNCTION ledger.count_moved();
--> statement-breakpoint
-- The oldest mark of all days that have rows; null while one of them has none. Days change rarely, marks more rarely.
CREATE FUNCTION ledger.note_verified_through() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE ledger.streams s SET verified_through = c.verified_through
    FROM (SELECT x.stream, CASE WHEN bool_and(x.verified_at IS NOT NULL) THEN min(x.verified_at) END AS verified_through
            FROM ledger.coverage x WHERE x.transactions > 0 GROUP BY x.stream ORDER BY x.stream) AS c
   WHERE s.name = c.stream AND s.verified_through IS DISTINCT FROM c.verified_through;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER coverage_verified AFTER UPDATE OF verified_at OR DELETE ON ledger.coverage
  FOR EACH STATEMENT EXECUTE FUNCTION ledger.note_verified_through();
--> statement-breakpoint
CREATE FUNCTION ledger.note_new_day() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE ledger.streams SET verified_through = NULL WHERE name = NEW.stream AND verified_through IS NOT NULL;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER coverage_new_day AFTER INSERT ON ledger.coverage
  FOR EACH ROW WHEN (NEW.verified_at IS NULL) EXECUTE FUNCTION ledger.note_new_day();
--> statement-breakpoint
-- At the commit, so that the steps of one transaction are one change.
CREATE FUNCTION ledger.note_proof() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO ledger.stream_proofs (name, observed_at, is_complete, service_total, ledger_count, reason)
  SELECT s.name, clock_timestamp(), s.is_complete, s.service_total, s.ledger_count, s.not_complete_because
    FROM ledger.streams s
   WHERE s.name = NEW.name
     AND s.is_complete IS DISTINCT FROM coalesce((SELECT p.is_complete FROM ledger.stream_proofs p
                                                   WHERE p.name = NEW.name ORDER BY p.id DESC LIMIT 1), false);
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE CONSTRAINT TRIGGER streams_proof AFTER UPDATE ON ledger.streams
  DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (OLD.is_complete IS DISTINCT FROM NEW.is_complete) EXECUTE FUNCTION ledger.note_proof();
--> statement-breakpoint
INSERT INTO ledger.stream_proofs (name, observed_at, is_complete, service_total, ledger_count, reason)
SELECT name, now(), is_complete, service_total, ledger_count, not_complete_because FROM ledger.streams WHERE is_complete;
--> statement-breakpoint
REVOKE EXECUTE ON FUNCTION ledger.count_inserted(), ledger.count_deleted(), ledger.count_truncated(), ledger.count_moved(),
  ledger.note_verified_through(), ledger.note_new_day(), ledger.note_proof() FROM PUBLIC;
--> statement-breakpoint
CREATE VIEW ledger.sync_health AS
SELECT s.name, s.is_complete, s.service_total, s.ledger_count,
       trunc(extract(epoch FROM now() - s.last_success_at))::bigint AS lag_seconds,
       s.last_success_at, left(substring(s.last_error FROM '^[^\r\n]+'), 300) AS last_error,
       s.not_complete_because, s.verified_through,
       (SELECT min(c.verified_at) FROM ledger.coverage c WHERE c.stream = s.name AND c.transactions > 0) AS oldest_verified_at
  FROM ledger.streams s;
--> statement-breakpoint
COMMENT ON COLUMN ledger.streams.is_complete IS 'Whether the ledger provably lists exactly what the service lists: a clean reading from end to end stands behind it, the counts are equal, and no difference waits to be explained. Derived by the database';
COMMENT ON COLUMN ledger.streams.not_complete_because IS 'Why is_complete is false, in words; null while it is true';
COMMENT ON COLUMN ledger.streams.is_backed IS 'Whether a clean reading of the list from end to end stands behind the counts';
COMMENT ON COLUMN ledger.streams.accepted_difference IS 'service_total less ledger_count as the last clean reading from end to end left it: what the service counts and its own list does not show';
COMMENT ON COLUMN ledger.streams.doubt IS 'What was seen that equal counts do not explain, in words; ended by a clean reading. Null: nothing';
COMMENT ON COLUMN ledger.streams.conflicts IS 'Rows that this list and another one show, see transactions.also_listed_in';
COMMENT ON COLUMN ledger.streams.verified_through IS 'Oldest coverage.verified_at of the list''s days: so old the truth of the copy can be at most. Null while a day was never verified, and for lists without times';
COMMENT ON COLUMN ledger.streams.passes IS 'Passes over the list so far; the program''s own';
COMMENT ON COLUMN ledger.streams.count_at_last_pass IS 'ledger_count when a pass over the list last stored something of it; the program''s own';
COMMENT ON COLUMN ledger.streams.checkpoint IS 'Where a reading of the list goes on; the program''s own';
COMMENT ON COLUMN ledger.streams.last_walk_at IS 'When a clean reading of the list from end to end last ended';
--> statement-breakpoint
COMMENT ON TABLE ledger.stream_proofs IS 'One row per change of a list''s proof (streams.is_complete)';
COMMENT ON COLUMN ledger.stream_proofs.id IS 'Ever increasing';
COMMENT ON COLUMN ledger.stream_proofs.name IS 'The list, as in streams';
COMMENT ON COLUMN ledger.stream_proofs.observed_at IS 'When the proof changed';
COMMENT ON COLUMN ledger.stream_proofs.is_complete IS 'Whether the list was proven complete from then on';
COMMENT ON COLUMN ledger.stream_proofs.service_total IS 'What the service counted then';
COMMENT ON COLUMN ledger.stream_proofs.ledger_count IS 'Listed rows in the ledger then';
COMMENT ON COLUMN ledger.stream_proofs.reason IS 'Why the list was not complete, in words; null where it was';
--> statement-breakpoint
COMMENT ON TABLE ledger.scan_notes IS 'Keys that a running reading of a list has met; the program''s own';
COMMENT ON COLUMN ledger.scan_notes.stream IS 'The list, as in streams';
COMMENT ON COLUMN ledger.scan_notes.key IS 'Order number or address';
--> statement-breakpoint
COMMENT ON TABLE ledger.coverage IS 'Per list and UTC day: how many listed rows the ledger has, and when the service was last seen to list exactly these';
COMMENT ON COLUMN ledger.coverage.stream IS 'deposit or withdraw';
COMMENT ON COLUMN ledger.coverage.day IS 'UTC day of transactions.occurred_at';
COMMENT ON COLUMN ledger.coverage.transactions IS 'Listed rows of that day in the ledger, right at every commit';
COMMENT ON COLUMN ledger.coverage.verified_at IS 'When the service was last seen to list exactly the rows that the ledger has for that day; null: never, or the day was changed since by anything but a reading of the list';
--> statement-breakpoint
COMMENT ON COLUMN ledger.transactions.also_listed_in IS 'The other list that shows the row as well, while both do; null as a rule. Neither list is proven complete then';
--> statement-breakpoint
COMMENT ON FUNCTION ledger.count_inserted IS 'Keeps streams.ledger_count and coverage.transactions for inserted rows';
COMMENT ON FUNCTION ledger.count_deleted IS 'Keeps streams.ledger_count and coverage for deleted rows';
COMMENT ON FUNCTION ledger.count_truncated IS 'Keeps streams.ledger_count and coverage when all rows are taken out';
COMMENT ON FUNCTION ledger.count_moved IS 'Keeps streams.ledger_count, conflicts and coverage for rows that changed their list, day or listing';
COMMENT ON FUNCTION ledger.note_verified_through IS 'Keeps streams.verified_through when marks of days change';
COMMENT ON FUNCTION ledger.note_new_day IS 'A day that has just begun is not verified yet: neither is its list';
COMMENT ON FUNCTION ledger.note_proof IS 'Writes a row of stream_proofs when is_complete has changed in the transaction';
--> statement-breakpoint
COMMENT ON VIEW ledger.sync_health IS 'How complete and how fresh each list of the service is in the ledger';
COMMENT ON COLUMN ledger.sync_health.name IS 'deposit, withdraw or addresses:<slip44>';
COMMENT ON COLUMN ledger.sync_health.is_complete IS 'Whether the ledger provably lists exactly what the service lists';
COMMENT ON COLUMN ledger.sync_health.service_total IS 'What the service last counted (totalSize); null before the first answer';
COMMENT ON COLUMN ledger.sync_health.ledger_count IS 'Listed rows in the ledger';
COMMENT ON COLUMN ledger.sync_health.lag_seconds IS 'Whole seconds since last_success_at; null when the list has never been read well';
COMMENT ON COLUMN ledger.sync_health.last_success_at IS 'When a pass over the list last ended well; null when none did';
COMMENT ON COLUMN ledger.sync_health.last_error IS 'Why the latest pass failed, its first line; null when it ended well';
COMMENT ON COLUMN ledger.sync_health.not_complete_because IS 'Why is_complete is false, in words; null while it is true';
COMMENT ON COLUMN ledger.sync_health.verified_through IS 'Oldest verification of any day of the list; null while a day was never verified';
COMMENT ON COLUMN ledger.sync_health.oldest_verified_at IS 'Oldest verification among the days that were verified; null when none was';
