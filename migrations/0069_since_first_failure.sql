-- A failure stands since its first failed run. The last success is older: by the whole interval of the job.
DO $migration$
DECLARE
  definition text := pg_get_functiondef('engine.problems_of(text)'::regprocedure);
  edit text[];
BEGIN
  FOREACH edit SLICE 1 IN ARRAY ARRAY[
    ARRAY['last_run.outcome, last_run.error,',
          'last_run.outcome, last_run.error, failure.started_at AS failing_since,
           -- What a run that follows on schedule may take to succeed; too few runs tell no pace, so the last gap does.
           CASE WHEN pace.pace > interval ''0'' THEN pace.pace
                ELSE coalesce(least(failure.started_at - success.finished_at, interval ''1 hour''), interval ''0'') END AS retried_within,'],
    ARRAY['SELECT r.finished_at FROM own.sync_runs r
',        'SELECT r.id, r.finished_at FROM own.sync_runs r
'],
    ARRAY['ORDER BY r.job DESC, r.id DESC LIMIT 1) AS success ON true',
          'ORDER BY r.job DESC, r.id DESC LIMIT 1) AS success ON true
      LEFT JOIN LATERAL (
        SELECT r.started_at FROM own.sync_runs r
         WHERE last_run.outcome = ''failed'' AND r.job >= j.job AND r.job <= j.job
           AND r.id > coalesce(success.id, 0) AND r.outcome = ''failed''
         ORDER BY r.job, r.id LIMIT 1) AS failure ON true'],
    ARRAY['j.patience_min, least(2 * m.pace, j.patience_max)) AS patience
',        'j.patience_min, least(2 * m.pace, j.patience_max)) AS patience, j.patience_min
'],
    ARRAY['pace.pace, pace.patience,', 'pace.pace, pace.patience, pace.patience_min,'],
    ARRAY['greatest(interval ''1 minute'', 2 * j.pace) AS retry_within',
          'greatest(interval ''1 minute'', j.retried_within) AS retry_within, failure.since AS failed_since,
           coalesce(failure.since, s.last_error_at) AS failing_since'],
    -- A list of addresses may be younger than the job that reads it.
    ARRAY['coalesce(s.last_success_at, j.first_started_at, s.last_error_at) AS read_at',
          'coalesce(s.last_success_at, CASE WHEN l.is_address_list THEN failure.since ELSE j.first_started_at END,
                    s.last_error_at) AS read_at'],
    ARRAY['WHERE p.name = s.name ORDER BY p.id DESC LIMIT 1) AS proof ON true',
          'WHERE p.name = s.name ORDER BY p.id DESC LIMIT 1) AS proof ON true
      -- A job fails with any of its lists, so a list that was read once counts the runs after its own success.
     CROSS JOIN LATERAL (
        SELECT CASE WHEN s.last_error IS NULL THEN NULL
                    WHEN s.last_success_at IS NULL THEN j.failing_since
                    ELSE (SELECT r.started_at FROM own.sync_runs r
                           WHERE r.finished_at > s.last_success_at AND r.started_at >= s.last_success_at
                             AND r.job = j.job AND r.outcome = ''failed''
                           ORDER BY r.finished_at LIMIT 1) END AS since) AS failure'],
    ARRAY['''stream_failing'', l.name, l.read_at,', '''stream_failing'', l.name, l.failing_since,'],
    ARRAY['l.last_success_at < now() - l.retry_within)',
          'coalesce(l.failed_since, l.last_success_at + l.retry_within) < now() - l.retry_within)'],
    ARRAY['''job_failing'', j.job, coalesce(j.succeeded_at, j.first_started_at),', '''job_failing'', j.job, j.failing_since,'],
    ARRAY['coalesce(j.succeeded_at, j.first_started_at) < now() - j.patience',
          'j.failing_since < now() - greatest(j.patience_min, j.retried_within)'],
    ARRAY['OFFSET greatest(p.threshold - a.available - 1, 0)',
          'OFFSET CASE WHEN a.available = 0 THEN 0 ELSE greatest(p.threshold - a.available - 1, 0) END'],
    ARRAY['''rows_in_two_lists'', NULL, min(l.proof_changed_at),',
          '''rows_in_two_lists'', NULL, min(l.proof_changed_at) FILTER (WHERE l.conflicts > 0),']]
  LOOP
    ASSERT cardinality(string_to_array(definition, edit[1])) = 2, edit[1];
    definition := replace(definition, edit[1], edit[2]);
  END LOOP;
  EXECUTE definition;
END $migration$;
