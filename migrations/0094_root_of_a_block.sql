-- A session that holds up the change feed may wait for another one, which may have no transaction number of its own, such
-- as one that has locked a table. The end of that one alone helps.
CREATE FUNCTION engine.root_blocker(waiting integer) RETURNS integer
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  WITH RECURSIVE chain (pid, depth) AS (
    SELECT b.pid, 1 FROM unnest(pg_blocking_pids(waiting)) AS b (pid) WHERE b.pid <> 0
    UNION
    SELECT b.pid, c.depth + 1 FROM chain c CROSS JOIN unnest(pg_blocking_pids(c.pid)) AS b (pid)
     WHERE b.pid <> 0 AND c.depth < 20)
  SELECT c.pid FROM chain c ORDER BY c.depth DESC, c.pid LIMIT 1
$$;
--> statement-breakpoint
COMMENT ON FUNCTION engine.root_blocker IS 'Process that a waiting process waits for in the end, through those between them; null if it waits for none';
--> statement-breakpoint
CREATE OR REPLACE VIEW ledger.feed_problems AS
SELECT 'feed_blocked'::text AS name, 'critical'::text AS severity, w.since,
       'events of the change feed wait for a transaction that is open: '
         || coalesce('process ' || r.pid, 'the prepared transaction ' || x.gid, 'it has just ended')
         || coalesce(', role ' || coalesce(a.usename, x.owner)::text COLLATE "default", '')
         || coalesce(', application ' || nullif(a.application_name, ''), '')
         || coalesce(', database ' || coalesce(a.datname, x.database)::text COLLATE "default", '') AS what,
       CASE WHEN x.gid IS NULL THEN 'end that transaction' || coalesce(': `select pg_terminate_backend(' || r.pid || ')`', '')
            ELSE 'commit it or roll it back: see pg_prepared_xacts' END AS cure,
       NULL::text AS subject
  FROM (SELECT min(o.recorded_at) AS since
          FROM (SELECT o.recorded_at, o.xact FROM engine.outbox o ORDER BY o.id LIMIT 1000) AS o
         WHERE o.recorded_at < now() - interval '10 seconds' AND o.xact < pg_snapshot_xmax(pg_current_snapshot())
           AND o.xact >= pg_snapshot_xmin(pg_current_snapshot())) AS w
  LEFT JOIN LATERAL (SELECT l.pid, l.transactionid FROM pg_locks l
                      WHERE l.locktype = 'transactionid' AND l.mode = 'ExclusiveLock' AND l.granted
                      ORDER BY age(l.transactionid) DESC LIMIT 1) AS h ON true
  LEFT JOIN LATERAL (SELECT coalesce(engine.root_blocker(h.pid), h.pid) AS pid) AS r ON true
  LEFT JOIN pg_stat_activity a ON a.pid = r.pid
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
  FROM ledger.feed_consumers c WHERE c.oldest_at < now() - interval '1 day'
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
SELECT engine.settle_rights();
