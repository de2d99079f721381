-- What a reader is told. A wallet that was taken out rests, so nothing of it needs a person. Two transaction lists that
-- show the same rows are one list whose type parameter is ignored: that is a setting to correct, and no row to ask about.
DO $migration$
DECLARE
  definition text := pg_get_functiondef('engine.problems_of(text)'::regprocedure);
  piece text;
BEGIN
  piece := E'BEGIN\n  PERFORM set_config(''ledger.wallet'', of_wallet, true);\n';
  ASSERT strpos(definition, piece) > 0, piece;
  definition := replace(definition, piece,
    E'BEGIN\n  IF EXISTS (SELECT FROM ledger.wallets w WHERE w.wallet = of_wallet AND w.is_resting) THEN RETURN; END IF;\n'
    || E'  PERFORM set_config(''ledger.wallet'', of_wallet, true);\n');

  piece := '      (''rejects_open'', ''warning'', ';
  ASSERT strpos(definition, piece) > 0, piece;
  definition := replace(definition, piece,
    '      (''type_filter_broken'', ''critical'', ''set WALLET_PARAM_NAMES type= to the service''''s name for the type parameter, which `wallet-ledger doctor` checks; then run `wallet-ledger backfill`''),'
    || E'\n' || piece);

  piece := '      FROM lists l WHERE NOT l.is_address_list HAVING max(l.conflicts) > 0
';
  ASSERT strpos(definition, piece) > 0, piece;
  definition := replace(definition, piece,
'      FROM lists l WHERE NOT l.is_address_list HAVING max(l.conflicts) > 0 AND max(l.conflicts) < sum(l.ledger_count)
    UNION ALL
    SELECT ''type_filter_broken'', NULL, min(l.proof_changed_at) FILTER (WHERE l.conflicts > 0),
           ''both transaction lists show the same rows: the service seems to ignore the type parameter, and rows count on the wrong side''
      FROM lists l WHERE NOT l.is_address_list HAVING max(l.conflicts) > 0 AND max(l.conflicts) >= sum(l.ledger_count)
');
  EXECUTE definition;
END $migration$;
--> statement-breakpoint
DO $migration$
DECLARE
  definition text := pg_get_viewdef('engine.home_problem'::regclass);
  piece CONSTANT text := 'COALESCE(m.since, now())';
BEGIN
  ASSERT strpos(definition, piece) > 0, definition;
  EXECUTE 'CREATE OR REPLACE VIEW engine.home_problem AS ' || replace(definition, piece,
    -- Nobody has noted the move: the last sign of life is from before it.
    'COALESCE(m.since, (SELECT max(r.finished_at)
                          FROM engine.wallet_names w
                         CROSS JOIN LATERAL (SELECT s.finished_at FROM ledger.sync_runs s
                                              WHERE s.wallet = w.wallet ORDER BY s.id DESC LIMIT 1) AS r),
              pg_postmaster_start_time())');
END $migration$;
--> statement-breakpoint
DO $migration$
DECLARE
  definition text := pg_get_viewdef('ledger.contract'::regclass);
  piece CONSTANT text := '(''numeric''::regtype)::oid) THEN ''units of the coin''::text';
BEGIN
  ASSERT strpos(definition, 'WHEN (a.atttypid = ' || piece) > 0, definition;
  EXECUTE 'CREATE OR REPLACE VIEW ledger.contract AS ' || replace(definition, 'WHEN (a.atttypid = ' || piece,
    'WHEN (a.attname = ''days_left'') THEN ''days'' WHEN (a.atttypid = ' || piece);
END $migration$;
