ALTER TABLE "engine"."raised_problems" DROP CONSTRAINT "raised_problems_wallet_name_severity_pk";--> statement-breakpoint
ALTER TABLE "engine"."raised_problems" ADD COLUMN "subject" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "engine"."raised_problems" ADD CONSTRAINT "raised_problems_wallet_name_severity_subject_pk" PRIMARY KEY("wallet","name","severity","subject");
--> statement-breakpoint
ALTER TABLE "engine"."webhooks" ADD COLUMN "set_at" timestamp with time zone DEFAULT now() NOT NULL;--> statement-breakpoint
ALTER TABLE "engine"."webhooks" ADD COLUMN "unset_at" timestamp with time zone;
--> statement-breakpoint
COMMENT ON COLUMN engine.raised_problems.subject IS 'As problems.subject; empty instead of null';
COMMENT ON COLUMN engine.webhooks.set_at IS 'When a daemon that has it in FEED_WEBHOOKS said so last';
COMMENT ON COLUMN engine.webhooks.unset_at IS 'Since when the daemons that run do not have it in FEED_WEBHOOKS; null while one has';
--> statement-breakpoint
-- A receiver that was taken out of FEED_WEBHOOKS rests: it neither fails nor is late, and it has lost nothing yet.
CREATE OR REPLACE VIEW ledger.feed_consumers AS
SELECT c.name, c.kind, c.position, c.behind, e.recorded_at AS oldest_at,
       CASE WHEN c.is_unset THEN 'unset'
            WHEN c.position < (SELECT min(o.seq) FROM ledger.events o) - 1 THEN 'lost'
            WHEN c.stopped_because IS NOT NULL THEN 'stopped'
            WHEN c.paused_at IS NOT NULL THEN 'paused'
            WHEN c.failing_since IS NOT NULL THEN 'failing'
            WHEN e.recorded_at < now() - interval '1 day' THEN 'stalled'
            ELSE 'reading' END AS state,
       CASE WHEN c.is_unset THEN NULL
            WHEN c.stopped_because IS NOT NULL THEN c.paused_at ELSE c.failing_since END AS failing_since,
       CASE WHEN NOT c.is_unset
            THEN coalesce(c.stopped_because, CASE WHEN c.failing_since IS NOT NULL THEN c.last_error END) END AS last_error,
       c.moved_at
  FROM (SELECT k.name, 'consumer'::text AS kind, k.position, ledger.events_head() - k.position AS behind, k.moved_at,
               NULL::timestamptz AS paused_at, NULL::text AS stopped_because, NULL::timestamptz AS failing_since,
               NULL::text AS last_error, false AS is_unset
          FROM engine.consumers k
        UNION ALL
        SELECT w.name, 'webhook', coalesce(d.first - 1, w.position), ledger.events_head() - w.position + d.open, w.moved_at,
               w.paused_at, w.stopped_because, d.failing_since, w.last_error, w.unset_at IS NOT NULL
          FROM engine.webhooks w
          CROSS JOIN LATERAL (SELECT min(o.seq) AS first, count(*) AS open, min(o.failed_since) AS failing_since
                                FROM engine.deliveries o WHERE o.receiver = w.name) AS d) AS c
  LEFT JOIN ledger.events e ON e.seq = c.position + 1;
--> statement-breakpoint
COMMENT ON COLUMN ledger.feed_consumers.state IS 'reading; failing: an event is being sent again; paused by a person; stopped by the program; stalled: behind by more than a day; lost: events were deleted before it got them; unset: a webhook that no daemon has in FEED_WEBHOOKS any more';
--> statement-breakpoint
-- What a problem is about, apart from the words about it, in which numbers change while it stands. A function cannot get
-- a further column while a view reads it, so the view reads nothing for a moment.
CREATE OR REPLACE VIEW ledger.problems AS
SELECT NULL::text AS name, NULL::text AS severity, NULL::timestamptz AS since, NULL::text AS what, NULL::text AS cure,
       NULL::text AS wallet
 WHERE false;
--> statement-breakpoint
DO $migration$
DECLARE
  definition text := pg_get_functiondef('engine.problems_of(text)'::regprocedure);
  remark text := obj_description('engine.problems_of(text)'::regprocedure, 'pg_proc');
  edit text[];
BEGIN
  FOREACH edit SLICE 1 IN ARRAY ARRAY[
    ARRAY['what text, cure text)', 'what text, cure text, subject text)'],
    ARRAY['coalesce(f.subject, ''''))', 'coalesce(f.subject, '''')), f.subject'],
    -- A coin over all chains, or an asset: the key that balance.changed has.
    ARRAY['''unexplained_difference'', d.symbol,', '''unexplained_difference'', concat_ws(''/'', d.slip44, d.symbol, nullif(d.contract_address, '''')),'],
    ARRAY['''chain_filter_broken'', NULL,', '''chain_filter_broken'', p.slip44::text,'],
    ARRAY['''pool_withheld'', NULL,', '''pool_withheld'', t.slip44::text,']]
  LOOP
    ASSERT strpos(definition, edit[1]) > 0, edit[1];
    definition := replace(definition, edit[1], edit[2]);
  END LOOP;
  DROP FUNCTION engine.problems_of(text);
  EXECUTE definition;
  EXECUTE format('COMMENT ON FUNCTION engine.problems_of(text) IS %L', remark);
END $migration$;
--> statement-breakpoint
CREATE OR REPLACE VIEW ledger.feed_problems AS
SELECT 'feed_blocked'::text AS name, 'critical'::text AS severity, w.since,
       'events of the change feed wait for a transaction that is open: '
         || coalesce('process ' || h.pid, 'the prepared transaction ' || x.gid, 'it has just ended')
         || coalesce(', role ' || coalesce(a.usename, x.owner)::text COLLATE "default", '')
         || coalesce(', application ' || nullif(a.application_name, ''), '')
         || coalesce(', database ' || coalesce(a.datname, x.database)::text COLLATE "default", '') AS what,
       CASE WHEN x.gid IS NULL THEN 'end that transaction' || coalesce(': `select pg_terminate_backend(' || h.pid || ')`', '')
            ELSE 'commit it or roll it back: see pg_prepared_xacts' END AS cure,
       NULL::text AS subject
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
       'the ' || c.kind || ' ' || c.name
         || CASE WHEN c.state = 'unset' THEN ', which no daemon has in FEED_WEBHOOKS any more, has not got event '
                 WHEN c.kind = 'webhook' THEN ' has not accepted event ' ELSE ' has not acknowledged event ' END
         || (c.position + 1) || ' of the change feed; it is deleted on '
         || to_char((c.oldest_at + interval '30 days') AT TIME ZONE 'UTC', 'YYYY-MM-DD'),
       CASE WHEN c.kind = 'webhook'
            THEN CASE WHEN c.state = 'unset' THEN 'set it in FEED_WEBHOOKS again, then it gets everything since'
                      WHEN c.state IN ('paused', 'stopped') THEN 'run `wallet-ledger feed resume ' || c.name || '`'
                      ELSE 'check that a daemon has it in FEED_WEBHOOKS, and that the receiver works' END
              || '; if it is no longer used, '
              || CASE WHEN c.state = 'unset' THEN '' ELSE 'take it out of FEED_WEBHOOKS, restart the daemons, then: ' END
              || '`delete from engine.webhooks where name = '''
            ELSE 'start the program that reads as this consumer; if it is no longer used: `delete from engine.consumers where name = ''' END
         || c.name || '''`',
       c.kind || ' ' || c.name
  FROM ledger.feed_consumers c
 WHERE c.oldest_at < now() - interval '1 day'
UNION ALL
SELECT 'feed_events_lost', 'critical', c.moved_at,
       'the events ' || (c.position + 1) || ' to ' || (f.oldest - 1) || ' were deleted before the ' || c.kind || ' ' || c.name
         || CASE WHEN c.kind = 'webhook' THEN ' accepted them' ELSE ' acknowledged them' END,
       'compare the books of that program with the tables, then '
         || CASE WHEN c.kind = 'webhook' THEN 'let it go on: `wallet-ledger feed replay ' || c.name || ' --from ' || f.oldest || '`'
                 ELSE 'acknowledge: `select ledger.ack_events(''' || c.name || ''', ledger.events_head())`' END,
       c.kind || ' ' || c.name
  FROM (SELECT min(e.seq) AS oldest FROM ledger.events e) AS f JOIN ledger.feed_consumers c ON c.position < f.oldest - 1 AND c.state <> 'unset'
UNION ALL
SELECT 'feed_webhook_stopped', 'critical', c.failing_since,
       'nothing is sent to the webhook ' || c.name || ' any more: ' || c.last_error,
       'correct the receiver, then `wallet-ledger feed resume ' || c.name || '`: it gets everything since',
       c.kind || ' ' || c.name
  FROM ledger.feed_consumers c WHERE c.state = 'stopped'
UNION ALL
SELECT 'feed_webhook_failing', 'warning', c.failing_since,
       'the webhook ' || c.name || ' refuses events or cannot be reached: ' || c.last_error,
       'correct the receiver; everything is sent again by itself, for 7 days',
       c.kind || ' ' || c.name
  FROM ledger.feed_consumers c WHERE c.state = 'failing' AND c.failing_since < now() - interval '10 minutes';
--> statement-breakpoint
CREATE OR REPLACE VIEW engine.database_problems AS
SELECT 'database_moved' AS name, m.severity, m.since, m.what,
       CASE m.severity
         WHEN 'critical' THEN '`wallet-ledger recover` shows what was found; with ON_MOVE=heal a running daemon recovers by itself; otherwise run it with --handed-out FILE or --same'
         ELSE '`wallet-ledger recover` shows what was found; run it with --handed-out FILE, or with --same if nothing was lost' END AS cure,
       NULL::text AS subject
  FROM engine.home_problem m
UNION ALL
SELECT 'addresses_locked', 'warning', h.since,
       'an open transaction locks addresses of the pools, so no other caller can take them: '
         || coalesce('process ' || h.pid, 'a prepared transaction') || coalesce(', role ' || h.role, '')
         || coalesce(', application ' || nullif(h.application, ''), ''),
       'end that transaction' || coalesce(': `select pg_terminate_backend(' || h.pid || ')`', ', see pg_prepared_xacts'),
       coalesce('process ' || h.pid, 'prepared transaction')
  FROM (WITH locks AS MATERIALIZED (
          SELECT l.pid, l.virtualtransaction, l.locktype, l.relation, l.mode, l.transactionid, l.database
            FROM pg_locks l WHERE l.granted AND l.locktype IN ('relation', 'transactionid')
        ),
        -- The latest pass of any wallet that ended a minute ago: a transaction without a start is older if its number is.
        mark AS MATERIALIZED (
          SELECT r.xid, r.finished_at
            FROM engine.wallet_names w
           CROSS JOIN LATERAL (
              SELECT s.xmin AS xid, s.finished_at FROM ledger.sync_runs s
               WHERE s.wallet = w.wallet AND s.finished_at < now() - interval '1 minute' ORDER BY s.id DESC LIMIT 1) AS r
           ORDER BY r.finished_at DESC LIMIT 1
        )
        SELECT DISTINCT l.pid, s.role, s.application, coalesce(s.xact_start, m.finished_at) AS since
          FROM locks l
          LEFT JOIN LATERAL (
            SELECT a.usename::text COLLATE "default" AS role, a.application_name AS application, a.xact_start
              FROM pg_stat_activity a WHERE a.pid = l.pid) AS s ON true
          LEFT JOIN mark m ON s.xact_start IS NULL
         WHERE l.locktype = 'relation' AND l.relation = 'ledger.addresses'::regclass
           AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
           AND l.mode IN ('RowShareLock', 'RowExclusiveLock', 'ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock',
                          'AccessExclusiveLock')
           AND CASE WHEN s.xact_start IS NULL
                    THEN (SELECT max(age(x.transactionid)) FROM locks x
                           WHERE x.locktype = 'transactionid' AND x.mode = 'ExclusiveLock'
                             AND x.virtualtransaction = l.virtualtransaction) > age(m.xid)
                    ELSE s.xact_start < now() - interval '1 minute' END) AS h
UNION ALL
SELECT f.name, f.severity, f.since, f.what, f.cure, f.subject FROM ledger.feed_problems f;
--> statement-breakpoint
CREATE OR REPLACE VIEW ledger.problems AS
SELECT p.name, p.severity, p.since, p.what, p.cure, p.wallet, p.subject
  FROM (SELECT o.name, o.severity, o.since, o.what, o.cure, w.wallet, o.subject
          FROM engine.wallet_names w CROSS JOIN LATERAL engine.problems_of(w.wallet) AS o
        UNION ALL
        SELECT d.name, d.severity, d.since, d.what, d.cure, '', d.subject FROM engine.database_problems d) AS p
 WHERE (SELECT engine.seen_wallets(current_user)) IS NULL
    OR p.wallet = ANY ((SELECT engine.seen_wallets(current_user))::text[])
 ORDER BY p.severity, p.since, p.what;
--> statement-breakpoint
COMMENT ON COLUMN ledger.problems.subject IS 'What it is about, if the wallet can have the problem more than once: a coin (or slip44/symbol/contract on one chain), a slip44, a list, a job, a consumer or webhook, a process; null otherwise. It stays the same while the problem stands';
COMMENT ON COLUMN ledger.feed_problems.subject IS 'As problems.subject';
COMMENT ON COLUMN engine.database_problems.subject IS 'As problems.subject';
--> statement-breakpoint
-- What was reported before is about the oldest of its kind.
UPDATE engine.raised_problems r
   SET subject = coalesce((SELECT p.subject FROM ledger.problems p
                            WHERE (p.wallet, p.name, p.severity) = (r.wallet, r.name, r.severity) ORDER BY p.since LIMIT 1), '');
--> statement-breakpoint
-- Wallet, name, severity and subject say which problem it is; the words about it change while it stands.
CREATE OR REPLACE FUNCTION engine.note_problems() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF NOT pg_try_advisory_xact_lock(7246008) THEN RETURN; END IF;
  WITH standing AS MATERIALIZED (
    SELECT DISTINCT ON (p.wallet, p.name, p.severity, p.subject)
           p.wallet, p.name, p.severity, p.since, p.what, p.cure, coalesce(p.subject, '') AS subject
      FROM ledger.problems p ORDER BY p.wallet, p.name, p.severity, p.subject, p.since),
  cleared AS (
    DELETE FROM engine.raised_problems r
     WHERE NOT EXISTS (SELECT FROM standing s
                        WHERE (s.wallet, s.name, s.severity, s.subject) = (r.wallet, r.name, r.severity, r.subject))
    RETURNING r.wallet, r.name, r.severity, r.since, r.what, r.cure, r.subject),
  raised AS (
    INSERT INTO engine.raised_problems AS r (wallet, name, severity, since, what, cure, subject)
    SELECT s.wallet, s.name, s.severity, s.since, s.what, s.cure, s.subject FROM standing s
     WHERE NOT EXISTS (SELECT FROM engine.raised_problems o
                        WHERE (o.wallet, o.name, o.severity, o.subject) = (s.wallet, s.name, s.severity, s.subject))
    RETURNING r.wallet, r.name, r.severity, r.since, r.what, r.cure, r.subject)
  INSERT INTO engine.outbox (wallet, kind, key, data)
  SELECT x.wallet, x.kind, x.name,
         jsonb_build_object('name', x.name, 'severity', x.severity, 'since', x.since, 'what', x.what, 'cure', x.cure,
                            'subject', nullif(x.subject, ''))
    FROM (SELECT 'problem.cleared' AS kind, c.* FROM cleared c
          UNION ALL
          SELECT 'problem.raised', r.* FROM raised r) AS x
   ORDER BY x.kind, x.wallet, x.name, x.severity, x.since, x.subject;
  IF FOUND THEN PERFORM pg_notify('ledger_outbox', ''); END IF;
END $$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION ledger.contract_version() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT '1.3' $$;
--> statement-breakpoint
DO $migration$
DECLARE
  former text := pg_get_viewdef('ledger.contract'::regclass);
  present text := regexp_replace(former, 'CASE([[:space:]]+WHEN(?:(?!END).)*END AS since)',
    'CASE WHEN c.relname IN (''problems'', ''feed_problems'') AND a.attname = ''subject'' THEN ''1.3''\1');
BEGIN
  ASSERT present <> former;
  EXECUTE 'CREATE OR REPLACE VIEW ledger.contract AS ' || present;
END $migration$;
--> statement-breakpoint
SELECT engine.make_own_views();
--> statement-breakpoint
SELECT engine.settle_rights();
