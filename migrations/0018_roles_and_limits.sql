-- Functions that only read go with the right to read the tables, those of the machinery with the right to write them.
-- What runs with the owner's rights in the schema ledger is granted by name. Later migrations add functions: the
-- program calls this after each.
CREATE FUNCTION engine.settle_rights() RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  f record;
  grantee text;
BEGIN
  FOR f IN
    SELECT p.oid, p.prorettype = 'trigger'::regtype OR p.prosecdef AND n.nspname = 'ledger' AS is_never_granted,
           n.nspname = 'ledger' AND p.provolatile <> 'v'
             OR EXISTS (SELECT FROM pg_depend d JOIN pg_rewrite r ON r.oid = d.objid
                         WHERE d.classid = 'pg_rewrite'::regclass AND d.refclassid = 'pg_proc'::regclass
                           AND d.refobjid = p.oid) AS is_of_readers
      FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
     WHERE n.nspname IN ('ledger', 'engine') AND pg_has_role(p.proowner, 'usage')
  LOOP
    IF has_function_privilege('public', f.oid, 'execute') THEN
      EXECUTE format('REVOKE EXECUTE ON ROUTINE %s FROM PUBLIC', f.oid::regprocedure);
    END IF;
    CONTINUE WHEN f.is_never_granted;
    FOR grantee IN
      SELECT DISTINCT a.grantee::regrole::text
        FROM pg_class c CROSS JOIN aclexplode(c.relacl) a
       WHERE c.oid = 'ledger.transactions'::regclass AND a.grantee NOT IN (0, c.relowner)
         AND (a.privilege_type = 'INSERT' OR a.privilege_type = 'SELECT' AND f.is_of_readers)
         AND NOT has_function_privilege(a.grantee, f.oid, 'execute')
    LOOP
      EXECUTE format('GRANT EXECUTE ON ROUTINE %s TO %s', f.oid::regprocedure, grantee);
    END LOOP;
  END LOOP;
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION engine.settle_rights IS 'Takes the functions of ledger and engine from PUBLIC, and grants those that only read to every role that may read ledger.transactions, those of the machinery to every role that may write it';
--> statement-breakpoint
-- Only where the database is the program's own. Roles that have a part in anything in it keep their way in.
DO $connect$
DECLARE
  database record;
  grantee text;
BEGIN
  SELECT d.oid, d.datname INTO database FROM pg_database d
   WHERE d.datname = current_database() AND pg_get_userbyid(d.datdba) = current_user;
  IF NOT FOUND THEN RETURN; END IF;
  FOR grantee IN
    SELECT DISTINCT s.refobjid::regrole::text FROM pg_shdepend s
     WHERE s.dbid = database.oid AND s.refclassid = 'pg_authid'::regclass AND pg_get_userbyid(s.refobjid) <> current_user
  LOOP
    EXECUTE format('GRANT CONNECT, TEMPORARY ON DATABASE %I TO %s', database.datname, grantee);
  END LOOP;
  EXECUTE format('REVOKE CONNECT, TEMPORARY ON DATABASE %I FROM PUBLIC', database.datname);
END $connect$;
--> statement-breakpoint
-- Settings of a role do not reach its members; a setting of the transaction itself reaches every caller.
CREATE FUNCTION engine.bound_idle_time() RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
  IF current_setting('idle_in_transaction_session_timeout')::interval NOT BETWEEN interval '1 millisecond' AND interval '1 minute' THEN
    PERFORM set_config('idle_in_transaction_session_timeout', '1min', true);
  END IF;
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION engine.bound_idle_time IS 'The transaction that calls it is ended when it stands idle for a minute: until it ends nobody else gets the addresses that it has taken';
--> statement-breakpoint
DO $bounded$
DECLARE
  definition text := pg_get_functiondef('engine.hand_out(integer, text, boolean)'::regprocedure);
  bounded text := replace(definition, 'PERFORM engine.require_home();', 'PERFORM engine.require_home(); PERFORM engine.bound_idle_time();');
BEGIN
  IF bounded = definition THEN
    RAISE EXCEPTION 'engine.hand_out does not begin with the home';
  END IF;
  EXECUTE bounded;
END $bounded$;
--> statement-breakpoint
-- Without the right to see others' sessions the start of their transactions is hidden. Then it is bounded: a
-- transaction whose number is older than that of a row of sync_runs has begun before the row was written.
DO $problems$
BEGIN
  EXECUTE format($view$
CREATE OR REPLACE VIEW ledger.problems AS
SELECT p.name, p.severity, p.since, p.what, p.cure
  FROM (SELECT o.* FROM (%s) AS o
        UNION ALL
        SELECT 'addresses_locked', 'warning', h.since,
               'an open transaction locks addresses of the pools, which nobody else can take: '
                 || coalesce('process ' || h.pid, 'a prepared transaction') || coalesce(', role ' || h.role, '')
                 || coalesce(', application ' || nullif(h.application, ''), ''),
               'end that transaction' || coalesce(': `select pg_terminate_backend(' || h.pid || ')`', ', see pg_prepared_xacts')
          FROM (
            WITH locks AS MATERIALIZED (
              SELECT l.pid, l.virtualtransaction, l.locktype, l.relation, l.mode, l.transactionid, l.database
                FROM pg_locks l WHERE l.granted AND l.locktype IN ('relation', 'transactionid')
            ),
            mark AS MATERIALIZED (
              SELECT r.xmin AS xid, r.finished_at FROM ledger.sync_runs r
               WHERE r.finished_at < now() - interval '1 minute' ORDER BY r.id DESC LIMIT 1
            )
            SELECT DISTINCT h.pid, s.role, s.application, coalesce(s.xact_start, m.finished_at) AS since
              FROM locks h
              LEFT JOIN LATERAL (SELECT a.usename::text COLLATE "default" AS role, a.application_name AS application, a.xact_start
                                   FROM pg_stat_activity a WHERE a.pid = h.pid) AS s ON true
              LEFT JOIN mark m ON s.xact_start IS NULL
             WHERE h.locktype = 'relation' AND h.relation = 'ledger.addresses'::regclass
               AND h.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
               AND h.mode IN ('RowShareLock', 'RowExclusiveLock', 'ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
               AND CASE WHEN s.xact_start IS NULL
                     THEN (SELECT max(age(x.transactionid)) FROM locks x
                            WHERE x.locktype = 'transactionid' AND x.mode = 'ExclusiveLock'
                              AND x.virtualtransaction = h.virtualtransaction) > age(m.xid)
                     ELSE s.xact_start < now() - interval '1 minute' END) AS h) AS p
 ORDER BY p.severity, p.since, p.what$view$, rtrim(pg_get_viewdef('ledger.problems'::regclass), ';'));
END $problems$;
--> statement-breakpoint
COMMENT ON COLUMN ledger.transactions.seal IS 'Digest of the row''s values as they were when its detail was stored. It shows changes that were made beside the program: a slip, a script, a restore of a part. It is no proof against a writer who means harm: whoever may write the row may also store the seal that fits (ledger.seal). Null before the first detail and while a change of the list row waits for its detail';
COMMENT ON FUNCTION ledger.seal IS 'Digest of what the service said of a transaction, without a secret key: see transactions.seal for what it shows and what it does not';
--> statement-breakpoint
SELECT engine.settle_rights();
