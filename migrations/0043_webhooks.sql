CREATE TABLE "engine"."deliveries" (
	"receiver" text NOT NULL,
	"seq" bigint NOT NULL,
	"key" text NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"due_at" timestamp with time zone DEFAULT now() NOT NULL,
	"failed_since" timestamp with time zone,
	"claimed_until" timestamp with time zone,
	CONSTRAINT "deliveries_receiver_seq_pk" PRIMARY KEY("receiver","seq")
);
--> statement-breakpoint
CREATE TABLE "engine"."webhooks" (
	"name" text PRIMARY KEY NOT NULL,
	"position" bigint NOT NULL,
	"first_seen_at" timestamp with time zone DEFAULT now() NOT NULL,
	"moved_at" timestamp with time zone DEFAULT now() NOT NULL,
	"last_error" text,
	"paused_at" timestamp with time zone,
	"stopped_because" text
);
--> statement-breakpoint
ALTER TABLE "engine"."deliveries" ADD CONSTRAINT "deliveries_receiver_webhooks_name_fk" FOREIGN KEY ("receiver") REFERENCES "engine"."webhooks"("name") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "deliveries_by_key" ON "engine"."deliveries" USING btree ("receiver","key","seq");--> statement-breakpoint
CREATE INDEX "deliveries_failed" ON "engine"."deliveries" USING btree ("receiver","failed_since") WHERE "engine"."deliveries"."failed_since" is not null;
--> statement-breakpoint
-- Takes further events over into the deliveries of a receiver, as far as 5,000 are open. Events that have been deleted
-- are not passed over: the problem feed_events_lost stands until `feed replay` says where to go on.
CREATE FUNCTION engine.take_over_events(receiver text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  done bigint := (SELECT w.position FROM engine.webhooks w
                   WHERE w.name = receiver AND w.paused_at IS NULL AND w.position < ledger.events_head() FOR UPDATE);
  room bigint := 5000 - (SELECT count(*) FROM engine.deliveries d WHERE d.receiver = take_over_events.receiver);
BEGIN
  IF done IS NULL OR NOT EXISTS (SELECT FROM ledger.events e WHERE e.seq = done + 1) THEN RETURN; END IF;
  WITH page AS MATERIALIZED (
    SELECT e.seq, e.key FROM ledger.events e WHERE e.seq > done ORDER BY e.seq LIMIT greatest(0, room)),
  stored AS (
    INSERT INTO engine.deliveries (receiver, seq, key) SELECT take_over_events.receiver, p.seq, p.key FROM page p
    ON CONFLICT DO NOTHING)
  UPDATE engine.webhooks w SET position = p.last
    FROM (SELECT max(page.seq) AS last FROM page) AS p WHERE w.name = take_over_events.receiver AND p.last IS NOT NULL;
END $$;
--> statement-breakpoint
-- Only the first open event of a key may be sent, and only while no other one of the key is on its way.
CREATE VIEW engine.due_deliveries AS
SELECT d.receiver, d.seq, d.attempts, d.due_at
  FROM engine.deliveries d JOIN engine.webhooks w ON w.name = d.receiver
 WHERE w.paused_at IS NULL AND d.due_at <= now() AND coalesce(d.claimed_until <= now(), true)
   AND NOT EXISTS (SELECT FROM engine.deliveries o
                    WHERE o.receiver = d.receiver AND o.key = d.key AND o.seq <> d.seq
                      AND (o.seq < d.seq OR o.claimed_until > now()));
--> statement-breakpoint
-- Claims an event for one attempt, and returns it with the number of the attempt; no row when it is not due. The row of
-- the receiver is locked first, so that the second statement sees every claim that was made before.
CREATE FUNCTION engine.claim_delivery(receiver text, seq bigint)
RETURNS TABLE (attempt integer, recorded_at timestamptz, kind text, key text, data jsonb)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
  PERFORM FROM engine.webhooks w WHERE w.name = claim_delivery.receiver FOR NO KEY UPDATE;
  RETURN QUERY
  UPDATE engine.deliveries d SET claimed_until = now() + interval '30 seconds', attempts = d.attempts + 1
    FROM engine.due_deliveries u, ledger.events e
   WHERE u.receiver = claim_delivery.receiver AND u.seq = claim_delivery.seq
     AND d.receiver = u.receiver AND d.seq = u.seq AND e.seq = d.seq
  RETURNING d.attempts, e.recorded_at, e.kind, e.key, e.data;
END $$;
--> statement-breakpoint
-- Ends an attempt; one whose claim was lost changes nothing. The pause before the next attempt is as long as the event
-- has been failing, from 5 seconds to an hour. What began to fail since the last success failed with the receiver, so it
-- is due at once when the receiver accepts an event again.
CREATE FUNCTION engine.end_delivery(receiver text, seq bigint, attempt integer, failure text, is_gone boolean) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  since timestamptz;
BEGIN
  PERFORM FROM engine.webhooks w WHERE w.name = end_delivery.receiver FOR NO KEY UPDATE;
  IF failure IS NULL THEN
    DELETE FROM engine.deliveries d
     WHERE d.receiver = end_delivery.receiver AND d.seq = end_delivery.seq AND d.attempts = attempt;
    IF NOT FOUND THEN RETURN; END IF;
    UPDATE engine.deliveries d SET due_at = now() FROM engine.webhooks w
     WHERE w.name = end_delivery.receiver AND d.receiver = w.name AND d.failed_since > w.moved_at
       AND d.claimed_until IS NULL AND d.due_at > now();
    UPDATE engine.webhooks w SET moved_at = now() WHERE w.name = end_delivery.receiver;
  ELSE
    UPDATE engine.deliveries d
       SET claimed_until = NULL, failed_since = coalesce(d.failed_since, now()),
           due_at = now() + greatest(interval '5 seconds', least(interval '1 hour', now() - coalesce(d.failed_since, now())))
     WHERE d.receiver = end_delivery.receiver AND d.seq = end_delivery.seq AND d.attempts = attempt
    RETURNING d.failed_since INTO since;
    IF NOT FOUND THEN RETURN; END IF;
    UPDATE engine.webhooks w
       SET last_error = failure,
           paused_at = CASE WHEN is_gone OR since < now() - interval '7 days' THEN coalesce(w.paused_at, now()) ELSE w.paused_at END,
           stopped_because = CASE WHEN is_gone THEN 'it answered 410 Gone to event ' || end_delivery.seq
                                  WHEN since < now() - interval '7 days'
                                  THEN 'event ' || end_delivery.seq || ' has been refused for 7 days: ' || failure
                                  ELSE w.stopped_because END
     WHERE w.name = end_delivery.receiver;
  END IF;
END $$;
--> statement-breakpoint
-- Makes an event, and all behind it, be delivered again. What is on its way is sent again after its claim has ended.
CREATE FUNCTION engine.replay_events(receiver text, first bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM FROM engine.webhooks w WHERE w.name = replay_events.receiver FOR UPDATE;
  DELETE FROM engine.deliveries d
   WHERE d.receiver = replay_events.receiver AND coalesce(d.claimed_until <= now(), true);
  UPDATE engine.deliveries d SET attempts = d.attempts + 1 WHERE d.receiver = replay_events.receiver;
  UPDATE engine.webhooks w SET position = first - 1 WHERE w.name = replay_events.receiver;
  PERFORM pg_notify('ledger_events', '');
END $$;
--> statement-breakpoint
CREATE VIEW ledger.feed_consumers AS
SELECT c.name, c.kind, c.position, c.behind, e.recorded_at AS oldest_at,
       CASE WHEN c.position < (SELECT min(o.seq) FROM ledger.events o) - 1 THEN 'lost'
            WHEN c.stopped_because IS NOT NULL THEN 'stopped'
            WHEN c.paused_at IS NOT NULL THEN 'paused'
            WHEN c.failing_since IS NOT NULL THEN 'failing'
            WHEN e.recorded_at < now() - interval '1 day' THEN 'stalled'
            ELSE 'reading' END AS state,
       CASE WHEN c.stopped_because IS NOT NULL THEN c.paused_at ELSE c.failing_since END AS failing_since,
       coalesce(c.stopped_because, CASE WHEN c.failing_since IS NOT NULL THEN c.last_error END) AS last_error,
       c.moved_at
  FROM (SELECT k.name, 'consumer'::text AS kind, k.position, ledger.events_head() - k.position AS behind, k.moved_at,
               NULL::timestamptz AS paused_at, NULL::text AS stopped_because, NULL::timestamptz AS failing_since, NULL::text AS last_error
          FROM engine.consumers k
        UNION ALL
        SELECT w.name, 'webhook', coalesce(d.first - 1, w.position), ledger.events_head() - w.position + d.open, w.moved_at,
               w.paused_at, w.stopped_because, d.failing_since, w.last_error
          FROM engine.webhooks w
          CROSS JOIN LATERAL (SELECT min(o.seq) AS first, count(*) AS open, min(o.failed_since) AS failing_since
                                FROM engine.deliveries o WHERE o.receiver = w.name) AS d) AS c
  LEFT JOIN ledger.events e ON e.seq = c.position + 1;
--> statement-breakpoint
-- The oldest events, at most 10,000: after 7 days when every consumer and every receiver has them, after 30 days in any
-- case. The latest one stays, because its number is the feed's head.
CREATE OR REPLACE FUNCTION engine.prune_events() RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  done bigint := (SELECT min(c.position) FROM ledger.feed_consumers c);
  deleted bigint;
BEGIN
  WITH page AS MATERIALIZED (
    SELECT e.seq, e.recorded_at < now() - CASE WHEN e.seq > done THEN interval '30 days' ELSE interval '7 days' END AS is_old
      FROM ledger.events e ORDER BY e.seq LIMIT 10000)
  DELETE FROM ledger.events e
   WHERE e.seq < ledger.events_head()
     AND e.seq IN (SELECT p.seq FROM page p WHERE NOT EXISTS (SELECT FROM page k WHERE NOT k.is_old AND k.seq <= p.seq));
  GET DIAGNOSTICS deleted = ROW_COUNT;
  RETURN deleted;
END $$;
--> statement-breakpoint
CREATE OR REPLACE VIEW ledger.feed_problems AS
SELECT 'feed_blocked'::text AS name, 'critical'::text AS severity, w.since,
       'events of the change feed wait for a transaction that is open: '
         || coalesce('process ' || h.pid, 'the prepared transaction ' || x.gid, 'it has just ended')
         || coalesce(', role ' || coalesce(a.usename, x.owner)::text COLLATE "default", '')
         || coalesce(', application ' || nullif(a.application_name, ''), '')
         || coalesce(', database ' || coalesce(a.datname, x.database)::text COLLATE "default", '') AS what,
       CASE WHEN x.gid IS NULL THEN 'end that transaction' || coalesce(': `select pg_terminate_backend(' || h.pid || ')`', '')
            ELSE 'commit it or roll it back: see pg_prepared_xacts' END AS cure
  FROM (SELECT min(o.recorded_at) AS since
          FROM (SELECT o.recorded_at, o.xact FROM engine.outbox o ORDER BY o.id LIMIT 1000) AS o
         WHERE o.recorded_at < now() - interval '10 seconds' AND o.xact < pg_snapshot_xmax(pg_current_snapshot())
           AND o.xact >= pg_snapshot_xmin(pg_current_snapshot())) AS w
  LEFT JOIN LATERAL (SELECT l.pid, l.transactionid FROM pg_locks l
                      WHERE l.locktype = 'transactionid' AND l.mode = 'ExclusiveLock' AND l.granted
                      ORDER BY age(l.transactionid) DESC LIMIT 1) AS h ON true
  LEFT JOIN pg_stat_activity a ON a.pid = h.pid
  LEFT JOIN pg_prepared_xacts x ON h.pid IS NULL AND x.transaction = h.transactionid
 WHERE w.since IS NOT NULL
UNION ALL
SELECT 'feed_consumer_stalled', 'warning', c.oldest_at,
       'the ' || c.kind || ' ' || c.name || CASE WHEN c.kind = 'webhook' THEN ' has not accepted event ' ELSE ' has not acknowledged event ' END
         || (c.position + 1) || ' of the change feed; it is deleted on '
         || to_char((c.oldest_at + interval '30 days') AT TIME ZONE 'UTC', 'YYYY-MM-DD'),
       CASE WHEN c.kind = 'webhook'
            THEN CASE WHEN c.state IN ('paused', 'stopped') THEN 'run `wallet-ledger feed resume ' || c.name || '`'
                      ELSE 'check that a daemon has it in FEED_WEBHOOKS, and that the receiver works' END
              || '; if it is no longer used, take it out of FEED_WEBHOOKS, restart the daemons, then: `delete from engine.webhooks where name = '''
            ELSE 'start the program that reads as this consumer; if it is no longer used: `delete from engine.consumers where name = ''' END
         || c.name || '''`'
  FROM ledger.feed_consumers c
 WHERE c.oldest_at < now() - interval '1 day'
UNION ALL
SELECT 'feed_events_lost', 'critical', c.moved_at,
       'the events ' || (c.position + 1) || ' to ' || (f.oldest - 1) || ' were deleted before the ' || c.kind || ' ' || c.name
         || CASE WHEN c.kind = 'webhook' THEN ' accepted them' ELSE ' acknowledged them' END,
       'compare the books of that program with the tables, then '
         || CASE WHEN c.kind = 'webhook' THEN 'let it go on: `wallet-ledger feed replay ' || c.name || ' --from ' || f.oldest || '`'
                 ELSE 'acknowledge: `select ledger.ack_events(''' || c.name || ''', ledger.events_head())`' END
  FROM (SELECT min(e.seq) AS oldest FROM ledger.events e) AS f JOIN ledger.feed_consumers c ON c.position < f.oldest - 1
UNION ALL
SELECT 'feed_webhook_stopped', 'critical', c.failing_since,
       'nothing is sent to the webhook ' || c.name || ' any more: ' || c.last_error,
       'correct the receiver, then `wallet-ledger feed resume ' || c.name || '`: it gets everything since'
  FROM ledger.feed_consumers c WHERE c.state = 'stopped'
UNION ALL
SELECT 'feed_webhook_failing', 'warning', c.failing_since,
       'the webhook ' || c.name || ' refuses events or cannot be reached: ' || c.last_error,
       'correct the receiver; everything is sent again by itself, for 7 days'
  FROM ledger.feed_consumers c WHERE c.state = 'failing' AND c.failing_since < now() - interval '10 minutes';
--> statement-breakpoint
COMMENT ON TABLE engine.webhooks IS 'Receivers of webhooks (FEED_WEBHOOKS)';
COMMENT ON COLUMN engine.webhooks.name IS 'Name in FEED_WEBHOOKS';
COMMENT ON COLUMN engine.webhooks.position IS 'Events up to this one have been taken over into deliveries';
COMMENT ON COLUMN engine.webhooks.first_seen_at IS 'When a daemon first had it in its settings';
COMMENT ON COLUMN engine.webhooks.moved_at IS 'When it last accepted an event';
COMMENT ON COLUMN engine.webhooks.last_error IS 'Why an attempt failed last';
COMMENT ON COLUMN engine.webhooks.paused_at IS 'Since when nothing is sent to it; null while events are sent';
COMMENT ON COLUMN engine.webhooks.stopped_because IS 'Why the program paused it; null when a person did, or nobody';
COMMENT ON TABLE engine.deliveries IS 'Events that a receiver has not accepted yet, at most 5,000 each';
COMMENT ON COLUMN engine.deliveries.receiver IS 'Name of the receiver';
COMMENT ON COLUMN engine.deliveries.seq IS 'Number of the event';
COMMENT ON COLUMN engine.deliveries.key IS 'Key of the event; of one key only the first one is sent';
COMMENT ON COLUMN engine.deliveries.attempts IS 'Attempts so far; an answer to an earlier one than the latest does not count';
COMMENT ON COLUMN engine.deliveries.due_at IS 'When it may be sent';
COMMENT ON COLUMN engine.deliveries.failed_since IS 'When its first attempt failed; null before';
COMMENT ON COLUMN engine.deliveries.claimed_until IS 'Until when a daemon is sending it';
COMMENT ON VIEW engine.due_deliveries IS 'Deliveries that may be sent now';
COMMENT ON COLUMN engine.due_deliveries.receiver IS 'As in deliveries';
COMMENT ON COLUMN engine.due_deliveries.seq IS 'As in deliveries';
COMMENT ON COLUMN engine.due_deliveries.attempts IS 'As in deliveries';
COMMENT ON COLUMN engine.due_deliveries.due_at IS 'As in deliveries';
COMMENT ON VIEW ledger.feed_consumers IS 'Consumers and webhooks of the change feed, and how far each is';
COMMENT ON COLUMN ledger.feed_consumers.name IS 'Name of the consumer, or of the webhook in FEED_WEBHOOKS';
COMMENT ON COLUMN ledger.feed_consumers.kind IS 'consumer (reads with next_events) or webhook';
COMMENT ON COLUMN ledger.feed_consumers.position IS 'All events up to this one were acknowledged, or accepted';
COMMENT ON COLUMN ledger.feed_consumers.behind IS 'Number of events that it has not got yet';
COMMENT ON COLUMN ledger.feed_consumers.oldest_at IS 'When the first event that it has not got was recorded; null when there is none';
COMMENT ON COLUMN ledger.feed_consumers.state IS 'reading; failing: an event is being sent again; paused by a person; stopped by the program; stalled: behind by more than a day; lost: events were deleted before it got them';
COMMENT ON COLUMN ledger.feed_consumers.failing_since IS 'Since when an event fails, or the webhook is stopped; null when neither';
COMMENT ON COLUMN ledger.feed_consumers.last_error IS 'Why it is stopped or fails; null when it does not';
COMMENT ON COLUMN ledger.feed_consumers.moved_at IS 'When it last acknowledged or accepted an event';
COMMENT ON FUNCTION engine.take_over_events IS 'Takes further events over into the deliveries of a receiver';
COMMENT ON FUNCTION engine.claim_delivery IS 'Claims an event for one attempt, and returns it; no row when it may not be sent now';
COMMENT ON FUNCTION engine.end_delivery IS 'Ends an attempt: accepted (failure null), failed, or gone (410)';
COMMENT ON FUNCTION engine.replay_events IS 'Delivers an event and all behind it again';
--> statement-breakpoint
SELECT engine.settle_rights();
