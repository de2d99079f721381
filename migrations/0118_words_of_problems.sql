-- The problem named a query to find the transaction that withholds a pool. It names the processes itself. A value that
-- neither the list nor the detail of a transaction brings in a readable form counted twice.
DO $migration$
DECLARE
  definition text := pg_get_functiondef('engine.problems_of(text)'::regprocedure);
  change text[];
BEGIN
  FOREACH change SLICE 1 IN ARRAY ARRAY[
    [$sql$has available addresses, but take_address returned null: an open transaction holds them'
$sql$,
     $sql$has available addresses, but take_address returned null: '
           || coalesce('an open transaction holds them: ' || holders.words, 'the transaction that held them has ended')
$sql$],
    [$sql$HAVING max(k.taken_at) - min(k.taken_at) >= interval '10 seconds') AS t
$sql$,
     $sql$HAVING max(k.taken_at) - min(k.taken_at) >= interval '10 seconds') AS t
     -- Not visible to every role: when a transaction began.
     CROSS JOIN LATERAL (
        SELECT string_agg(h.words, '; or ' ORDER BY h.xact_start, h.pid) AS words
          FROM (SELECT DISTINCT a.xact_start, l.pid, coalesce('process ' || l.pid, 'a prepared transaction')
                       || coalesce(', role ' || a.usename, '') || coalesce(', application ' || nullif(a.application_name, ''), '')
                       || coalesce(', open since ' || to_char(a.xact_start AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') || ' UTC', '') AS words
                  FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid
                 WHERE l.granted AND l.locktype = 'relation' AND l.relation = 'ledger.addresses'::regclass
                   AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
                   AND l.mode NOT IN ('AccessShareLock', 'ShareUpdateExclusiveLock')
                 ORDER BY a.xact_start, l.pid LIMIT 3) AS h) AS holders
$sql$],
    [$sql$find the transaction: `select pid, usename, application_name, xact_start from pg_stat_activity where xact_start is not null order by xact_start`; end it with pg_terminate_backend(pid)$sql$,
     $sql$end that transaction: `select pg_terminate_backend(PROCESS)`, or ROLLBACK PREPARED for one of pg_prepared_xacts; its addresses return to the pool. If it has ended, so does this problem with the next address that is handed out, within five minutes at the latest$sql$],
    [$sql$SELECT 'rejects_open', NULL, min(r.first_seen_at),
           format('%s %s could not be decoded', count(*), CASE WHEN count(*) = 1 THEN 'value' ELSE 'values' END)
$sql$,
     $sql$SELECT 'rejects_open', NULL, min(r.first_seen_at),
           format('%s %s could not be decoded', count(DISTINCT r.value), CASE WHEN count(DISTINCT r.value) = 1 THEN 'value' ELSE 'values' END)
$sql$],
    [$sql$FROM own.rejects r WHERE r.resolved_at IS NULL HAVING count(*) > 0
$sql$,
     $sql$FROM (
        SELECT x.source, x.field, x.first_seen_at,
               CASE WHEN x.source LIKE 'transaction-%' AND x.order_no IS NOT NULL
                    THEN x.order_no || ' ' || coalesce(x.field, '') ELSE x.id::text END AS value
          FROM own.rejects x WHERE x.resolved_at IS NULL) AS r HAVING count(*) > 0
$sql$]
  ] LOOP
    ASSERT strpos(definition, change[1]) > 0, change[1];
    definition := replace(definition, change[1], change[2]);
  END LOOP;
  EXECUTE definition;
END $migration$;
--> statement-breakpoint
SELECT engine.settle_rights();
