-- A service that lists only its newest rows, or has lost its history, makes the ledger's totals shrink without a word:
-- the proof holds, because the ledger then lists just the same rows. Rows that vanish by tens are a problem.
DO $migration$
DECLARE
  definition text := pg_get_functiondef('engine.problems_of(text)'::regprocedure);
  piece text;
BEGIN
  piece := '      (''rejects_open'', ';
  ASSERT strpos(definition, piece) > 0, piece;
  definition := replace(definition, piece,
    '      (''rows_vanished'', ''warning'', ''ask the operator of the service where they are; `select * from ledger.transactions where not is_listed` names the rows, which are kept and count in no total'')'
    || E',\n' || piece);

  piece := '    SELECT ''rejects_open'', NULL, min(r.first_seen_at),';
  ASSERT strpos(definition, piece) > 0, piece;
  definition := replace(definition, piece,
'    SELECT ''rows_vanished'', l.name, v.since,
           format(''%s: %s%s rows have vanished from the list of the service within a day'', l.name,
                  CASE WHEN v.rows = 1000 THEN ''more than '' ELSE '''' END, to_char(v.rows - (v.rows = 1000)::integer, ''FM9,999''))
      FROM lists l
     CROSS JOIN LATERAL (
        SELECT count(*) AS rows, min(u.changed_at) AS since
          FROM (SELECT t.changed_at FROM own.transactions t
                 WHERE t.stream = l.name AND NOT t.is_listed ORDER BY t.occurred_at DESC LIMIT 1000) AS u
         WHERE u.changed_at > now() - interval ''1 day'') AS v
     WHERE NOT l.is_address_list AND v.rows >= 10
    UNION ALL
' || piece);
  EXECUTE definition;
END $migration$;
