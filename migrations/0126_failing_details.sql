-- While the service gave no detail at all, nothing said so before each of them had been refused five times.
DO $migration$
DECLARE
  definition text := pg_get_functiondef('engine.problems_of(text)'::regprocedure);
  edit text[];
BEGIN
  FOREACH edit SLICE 1 IN ARRAY ARRAY[
    ARRAY['using (wallet, order_no) where is_listed and refusals >= 5` names the rows',
          'using (wallet, order_no) where is_listed and refusals > 0` names the rows'],
    ARRAY[$find$           format('the service gives no detail of %s %s that it lists', count(*), CASE WHEN count(*) = 1 THEN 'row' ELSE 'rows' END)
      FROM own.detail_checks d
     WHERE d.turn = 3 AND d.refusals >= 5
       AND NOT EXISTS (SELECT FROM own.transactions t WHERE t.order_no = d.order_no AND NOT t.is_listed)
    HAVING count(*) > 0
$find$,
          $put$           format('the service gives no detail of %s %s that it lists', count(*), CASE WHEN count(*) = 1 THEN 'row' ELSE 'rows' END)
             || coalesce(': ' || (array_agg(left(substring(d.refusal, '^[^\r\n]+'), 300) ORDER BY d.refused_at DESC NULLS LAST)
                                    FILTER (WHERE d.refusal IS NOT NULL))[1], '')
      FROM (SELECT d.order_no, d.refused_since, d.refused_at, d.refusal, true AS is_often
              FROM own.detail_checks d WHERE d.turn = 3 AND d.refusals >= 5
            UNION ALL
            -- No detail has come since these were refused first.
            SELECT d.order_no, d.refused_since, d.refused_at, d.refusal, false
              FROM own.detail_checks d
             WHERE d.is_final AND d.refusals > 0 AND NOT (d.turn = 3 AND d.refusals >= 5)
               AND (SELECT r.rows_seen = 0 AND r.outcome = 'incomplete' FROM own.sync_runs r
                     WHERE r.job >= 'details' AND r.job <= 'details' ORDER BY r.job DESC, r.id DESC LIMIT 1)
               AND d.refused_since > coalesce(
                     (SELECT r.finished_at FROM own.sync_runs r
                       WHERE r.job >= 'details' AND r.job <= 'details' AND r.rows_seen > 0
                       ORDER BY r.job DESC, r.id DESC LIMIT 1), '-infinity')) AS d
     WHERE NOT EXISTS (SELECT FROM own.transactions t WHERE t.order_no = d.order_no AND NOT t.is_listed)
    HAVING bool_or(d.is_often) OR min(d.refused_since) < now() - interval '2 minutes'
$put$]]
  LOOP
    ASSERT cardinality(string_to_array(definition, edit[1])) = 2, edit[1];
    definition := replace(definition, edit[1], edit[2]);
  END LOOP;
  EXECUTE definition;
END $migration$;
