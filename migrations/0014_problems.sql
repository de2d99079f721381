CREATE INDEX "sync_runs_job" ON "ledger"."sync_runs" USING btree ("job","id");--> statement-breakpoint
CREATE INDEX "sync_runs_succeeded" ON "ledger"."sync_runs" USING btree ("job","id") WHERE "ledger"."sync_runs"."outcome" in ('done', 'incomplete');
--> statement-breakpoint
-- The latest 2,000 deposits of the window at the most, so that the view costs the same on any wallet.
CREATE VIEW ledger.unexpected_deposits AS
WITH deposits AS MATERIALIZED (
  SELECT t.order_no, t.symbol, t.amount, t.to_address, t.occurred_at
    FROM ledger.transactions t
   WHERE t.stream = 'deposit' AND t.is_listed AND t.to_address IS NOT NULL AND t.occurred_at > now() - interval '7 days'
   ORDER BY t.occurred_at DESC
   LIMIT 2000
),
first_proofs AS MATERIALIZED (
  SELECT p.slip44,
         (SELECT min(s.observed_at) FROM ledger.stream_proofs s WHERE s.name = 'addresses:' || p.slip44 AND s.is_complete) AS at
    FROM ledger.pools p
),
unexpected AS MATERIALIZED (
  SELECT d.*
    FROM deposits d
    LEFT JOIN LATERAL (
      SELECT true AS is_ours FROM ledger.addresses l
       WHERE lower(l.address) = lower(d.to_address) AND l.status <> 'foreign'
         AND (l.status <> 'used' OR l.generated_by IS NOT NULL OR l.assigned_at IS NOT NULL)
       LIMIT 1) AS o ON true
   WHERE o.is_ours IS NULL
),
-- A deposit does not name its chain. Whether an address is of no list is known of coins whose chains' lists were all read.
read_symbols AS MATERIALIZED (
  SELECT c.symbol, bool_and(coalesce(s.is_backed, false)) AS is_read
    FROM ledger.coins c
    LEFT JOIN ledger.pools p ON p.slip44 = c.slip44
    LEFT JOIN ledger.streams s ON s.name = 'addresses:' || p.slip44
   GROUP BY c.symbol
)
SELECT u.order_no, u.symbol, u.amount, u.to_address, CASE WHEN k.addresses > 0 THEN 'foreign' ELSE 'unknown' END AS kind,
       CASE WHEN k.addresses > 0 THEN k.is_later ELSE coalesce(r.is_read, false) END AS is_suspicious, u.occurred_at
  FROM unexpected u
 CROSS JOIN LATERAL (
   SELECT count(*) AS addresses, coalesce(bool_or(l.first_seen_at > f.at), false) AS is_later
     FROM ledger.addresses l LEFT JOIN first_proofs f ON f.slip44 = l.slip44
    WHERE lower(l.address) = lower(u.to_address)) AS k
  LEFT JOIN read_symbols r ON r.symbol = u.symbol;
--> statement-breakpoint
CREATE VIEW ledger.problems AS
WITH kinds (name, severity, cure) AS (VALUES
  ('daemon_silent', 'critical', 'see that `wallet-ledger start` runs; its log says why it ended'),
  ('stream_stale', 'critical', '`wallet-ledger doctor` checks settings, signature, clock and service; reading is retried on schedule'),
  ('addresses_stale', 'warning', '`wallet-ledger doctor` checks settings, signature, clock and service; then `wallet-ledger sync addresses`'),
  ('stream_failing', 'warning', '`wallet-ledger doctor` checks settings, signature, clock and service; reading is retried on schedule'),
  ('stream_unread', 'warning', 'run `wallet-ledger start`, or `wallet-ledger backfill` once'),
  ('backfill_running', 'warning', 'wait until it ends; `wallet-ledger status` shows how far it is'),
  ('stream_unproven', 'warning', 'the next passes look again; `wallet-ledger verify` names the rows that differ'),
  ('stream_incomplete', 'critical', 'run `wallet-ledger verify --repair`; `wallet-ledger rejects` lists the rows that cannot be stored'),
  ('total_differs', 'warning', '`wallet-ledger verify` compares row by row; ask those who run the service about its total'),
  ('rows_in_two_lists', 'warning', 'ask those who run the service which list is right; `select * from ledger.transactions where also_listed_in is not null` names the rows'),
  ('rejects_open', 'warning', '`wallet-ledger rejects` says why, and `wallet-ledger rejects retry` tries again'),
  ('unexplained_difference', 'critical', 'run `wallet-ledger verify`; ledger.reconciliation has the sums'),
  ('pool_empty', 'critical', 'check rights and limits at the service, and POOL_MAX_PER_DAY; then run `wallet-ledger pool refill {subject}`'),
  ('pool_not_filled', 'warning', 'check rights and limits at the service, and POOL_MAX_PER_DAY; filling is retried on schedule'),
  ('pool_below_threshold', 'warning', 'see that `wallet-ledger start` runs, or run `wallet-ledger pool refill {subject}`'),
  ('unexpected_deposits', 'warning', '`select * from ledger.unexpected_deposits where is_suspicious` names them; find out whose addresses they are, and who else generates addresses with this key'),
  ('final_state_undone', 'warning', 'correct the books that counted them; where it happens often, take the state out of WALLET_FINAL_STATES'),
  ('job_failing', 'warning', '`wallet-ledger doctor` checks settings, signature, clock and service; the job runs again on schedule')
),
-- How often a job runs is taken from its latest passes, so that no setting has to be known here. A range of one
-- job, in the order of jobs: with an equation the planner reads all runs backward until it meets one of the job.
jobs AS MATERIALIZED (
  SELECT j.job, first_run.started_at AS first_started_at, last_run.outcome, last_run.error,
         last_run.finished_at, success.finished_at AS succeeded_at, pace.pace, pace.patience,
         CASE WHEN pace.patience < interval '2 hours' THEN round(extract(epoch FROM pace.patience) / 60) || ' minutes'
              ELSE round(extract(epoch FROM pace.patience) / 3600) || ' hours' END AS patience_words
    FROM (VALUES ('transactions', interval '5 minutes', interval '2 hours'), ('details', '5 minutes', NULL),
                 ('balances', '5 minutes', NULL), ('coins', '5 minutes', NULL), ('addresses', '1 hour', NULL),
                 ('pools', '5 minutes', NULL), ('audit', '5 minutes', NULL)) AS j (job, patience_min, patience_max)
    LEFT JOIN LATERAL (
      SELECT r.started_at FROM ledger.sync_runs r WHERE r.job BETWEEN j.job AND j.job ORDER BY r.job, r.id LIMIT 1) AS first_run ON true
    LEFT JOIN LATERAL (
      SELECT r.outcome, r.error, r.finished_at
        FROM ledger.sync_runs r WHERE r.job BETWEEN j.job AND j.job ORDER BY r.job DESC, r.id DESC LIMIT 1) AS last_run ON true
    LEFT JOIN LATERAL (
      SELECT r.finished_at FROM ledger.sync_runs r
       WHERE r.job BETWEEN j.job AND j.job AND r.outcome IN ('done', 'incomplete')
       ORDER BY r.job DESC, r.id DESC LIMIT 1) AS success ON true
   CROSS JOIN LATERAL (
      SELECT m.pace, greatest(j.patience_min, least(2 * m.pace, j.patience_max)) AS patience
        FROM (SELECT CASE WHEN count(g.gap) >= 4 THEN percentile_cont(0.5) WITHIN GROUP (ORDER BY g.gap)
                          ELSE interval '0' END AS pace
                FROM (SELECT r.started_at - lead(r.started_at) OVER (ORDER BY r.id DESC) AS gap
                        FROM (SELECT x.id, x.started_at FROM ledger.sync_runs x
                               WHERE x.job BETWEEN j.job AND j.job AND x.outcome IN ('done', 'incomplete')
                               ORDER BY x.job DESC, x.id DESC LIMIT 6) AS r) AS g) AS m) AS pace
),
lists AS MATERIALIZED (
  SELECT s.name, s.service_total, s.ledger_count, s.is_complete, s.not_complete_because, s.is_backed, s.doubt,
         s.conflicts, s.accepted_difference, s.last_walk_at, s.last_success_at, s.last_error, s.last_error_at,
         s.lease_until, k.is_address_list, coalesce(s.lease_until > now(), false) AS is_being_read,
         j.patience, j.patience_words,
         greatest(interval '1 minute', 2 * j.pace) AS retry_within,
         coalesce(s.last_success_at, j.first_started_at, s.last_error_at) AS read_at,
         proof.observed_at AS proof_changed_at,
         coalesce(proof.observed_at, j.first_started_at, s.last_success_at) AS unproven_since,
         EXISTS (SELECT FROM ledger.sync_runs r
                  WHERE r.job = j.job AND r.rows_inserted > 0 AND r.finished_at > now() - interval '10 minutes') AS is_growing
    FROM ledger.streams s
   CROSS JOIN LATERAL (SELECT s.name LIKE 'addresses:%' AS is_address_list) AS k
    JOIN jobs j ON j.job = CASE WHEN k.is_address_list THEN 'addresses' ELSE 'transactions' END
    LEFT JOIN LATERAL (
      SELECT p.observed_at FROM ledger.stream_proofs p WHERE p.name = s.name ORDER BY p.id DESC LIMIT 1) AS proof ON true
   WHERE s.name IN ('deposit', 'withdraw')
      OR s.name IN (SELECT 'addresses:' || p.slip44 FROM ledger.pools p)
),
-- A reader shows itself by finished passes, and by the lease that it prolongs (30 s ahead) in a long one.
life AS MATERIALIZED (
  SELECT l.last_sign_at, coalesce(l.last_sign_at < now() - t.patience, false) AS is_silent, t.patience_words
    FROM (SELECT greatest((SELECT r.finished_at FROM ledger.sync_runs r ORDER BY r.id DESC LIMIT 1),
                          max(s.last_success_at), max(s.lease_until) - interval '30 seconds') AS last_sign_at
            FROM ledger.streams s) AS l
    JOIN jobs t ON t.job = 'transactions'
),
unproven AS MATERIALIZED (
  SELECT l.*, l.proof_changed_at IS NOT NULL AS was_proven,
         l.is_backed AND l.doubt IS NULL AND l.conflicts = 0 AND l.accepted_difference <> 0
           AND l.service_total - l.ledger_count = l.accepted_difference AS is_known_difference,
         -- A backfill writes down its run only when it ends; until then its lease is its only sign.
         coalesce(l.proof_changed_at IS NULL AND NOT l.is_backed
                  AND (l.is_being_read OR l.is_growing
                       OR l.last_error IS NULL AND l.last_success_at > now() - l.patience
                          AND coalesce(l.unproven_since > now() - interval '30 minutes', true)), false) AS is_first_reading
    FROM lists l
   WHERE NOT l.is_complete AND (l.is_being_read OR l.last_success_at IS NOT NULL)
),
pools AS MATERIALIZED (
  SELECT p.slip44, p.threshold, p.target, p.last_error, p.last_error_at, a.available,
         -- The address whose taking brought the pool below its threshold; of one never taken from, its last filling.
         coalesce((SELECT x.assigned_at FROM ledger.addresses x
                    WHERE x.slip44 = p.slip44 AND x.assigned_at IS NOT NULL
                    ORDER BY x.assigned_at DESC OFFSET greatest(p.threshold - a.available - 1, 0) LIMIT 1),
                  (SELECT max(x.first_seen_at) FROM ledger.addresses x
                    WHERE x.slip44 = p.slip44 AND x.status = 'available'),
                  p.last_error_at, j.first_started_at) AS low_since
    FROM ledger.pools p
   CROSS JOIN LATERAL (SELECT count(*) AS available FROM ledger.addresses x
                        WHERE x.slip44 = p.slip44 AND x.status = 'available') AS a
    JOIN jobs j ON j.job = 'pools'
),
differences (symbol, slip44, contract_address, amount, since) AS (
  SELECT u.symbol, u.slip44, u.contract_address, u.amount, u.since FROM ledger.unexplained_differences u
),
found (name, subject, since, what) AS (
  SELECT 'daemon_silent', NULL::text, f.last_sign_at,
         format('nothing has been read for more than %s: the ledger is as old as that', f.patience_words)
    FROM life f WHERE f.is_silent
  UNION ALL
  SELECT CASE WHEN l.is_address_list THEN 'addresses_stale' ELSE 'stream_stale' END, l.name, l.read_at,
         format('%s has not been read successfully for more than %s%s', l.name, l.patience_words,
                ': ' || left(substring(l.last_error FROM '^[^\r\n]+'), 300))
    FROM lists l CROSS JOIN life f
   WHERE NOT f.is_silent AND l.read_at < now() - l.patience AND NOT (l.is_being_read AND NOT l.is_complete)
     AND (l.last_success_at IS NOT NULL OR l.last_error IS NOT NULL)
  UNION ALL
  SELECT 'stream_failing', l.name, l.read_at, format('%s cannot be read: %s', l.name, left(substring(l.last_error FROM '^[^\r\n]+'), 300))
    FROM lists l CROSS JOIN life f
   WHERE NOT f.is_silent AND l.last_error IS NOT NULL AND l.read_at >= now() - l.patience
     AND (l.last_success_at IS NULL OR l.last_success_at < now() - l.retry_within)
  UNION ALL
  SELECT 'stream_unread', w.name, (SELECT r.started_at FROM ledger.sync_runs r ORDER BY r.id LIMIT 1),
         format('%s has not been read yet', w.name)
    FROM (VALUES ('deposit'), ('withdraw')) AS w (name) LEFT JOIN lists l ON l.name = w.name
   WHERE l.last_success_at IS NULL AND l.last_error IS NULL AND l.is_being_read IS NOT TRUE
  UNION ALL
  SELECT 'backfill_running', u.name, u.unproven_since,
         format('%s is not complete yet: its first reading is under way, %s%s rows are in', u.name,
                to_char(u.ledger_count, 'FM999,999,999,999'),
                ' of ' || to_char(u.service_total, 'FM999,999,999,999'))
    FROM unproven u WHERE u.is_first_reading
  UNION ALL
  SELECT CASE WHEN u.is_known_difference THEN 'total_differs'
              WHEN u.unproven_since < now() - 6 * u.patience THEN 'stream_incomplete'
              ELSE 'stream_unproven' END,
         u.name, u.unproven_since, format('%s is not proven complete: %s', u.name, left(substring(u.not_complete_because FROM '^[^\r\n]+'), 300))
    FROM unproven u
   WHERE NOT u.is_first_reading
     AND (u.is_known_difference OR NOT u.was_proven OR u.unproven_since < now() - u.patience)
  UNION ALL
  SELECT 'rows_in_two_lists', NULL, min(l.proof_changed_at),
         format('%s %s listed both as a deposit and as a withdrawal', max(l.conflicts),
                CASE WHEN max(l.conflicts) = 1 THEN 'row is' ELSE 'rows are' END)
    FROM lists l WHERE NOT l.is_address_list HAVING max(l.conflicts) > 0
  UNION ALL
  SELECT 'rejects_open', NULL, min(r.first_seen_at),
         format('%s %s could not be decoded', count(*), CASE WHEN count(*) = 1 THEN 'value' ELSE 'values' END)
    FROM ledger.rejects r WHERE r.resolved_at IS NULL HAVING count(*) > 0
  UNION ALL
  SELECT 'unexplained_difference', d.symbol, d.since,
         format('%s%s: the balances hold %s %s than the transactions add up to', left(substring(d.symbol FROM '^[^\r\n]+'), 300),
                ' on chain ' || d.slip44, abs(d.amount), CASE WHEN d.amount < 0 THEN 'less' ELSE 'more' END)
    FROM differences d
  UNION ALL
  SELECT CASE WHEN p.available = 0 THEN 'pool_empty' WHEN p.last_error IS NOT NULL THEN 'pool_not_filled'
              ELSE 'pool_below_threshold' END,
         p.slip44::text, CASE WHEN p.available >= p.threshold THEN p.last_error_at ELSE p.low_since END,
         format('the address pool of chain %s%s', p.slip44,
                CASE WHEN p.available = 0 THEN ' is empty' WHEN p.available < p.threshold
                     THEN format(' is down to %s of %s addresses', p.available, p.target) ELSE '' END
                || CASE WHEN p.last_error IS NULL THEN '' WHEN p.available < p.threshold
                        THEN ', and could not be filled: ' || left(substring(p.last_error FROM '^[^\r\n]+'), 300)
                        ELSE ' could not be filled: ' || left(substring(p.last_error FROM '^[^\r\n]+'), 300) END)
    FROM pools p
   WHERE p.available = 0 AND p.target > 0
      OR p.last_error IS NOT NULL AND p.available < p.target
      -- Filling runs once a minute; what it mends is no problem.
      OR p.available < p.threshold AND coalesce(p.low_since < now() - interval '2 minutes', true)
  UNION ALL
  SELECT 'unexpected_deposits', NULL, min(d.occurred_at),
         format('%s recent %s went to addresses that were not generated here', count(*),
                CASE WHEN count(*) = 1 THEN 'deposit' ELSE 'deposits' END)
    FROM ledger.unexpected_deposits d
   WHERE d.is_suspicious
  HAVING count(*) > 0
  UNION ALL
  SELECT 'final_state_undone', NULL, min(c.observed_at),
         format('%s %s changed after reaching a final state', count(DISTINCT c.order_no),
                CASE WHEN count(DISTINCT c.order_no) = 1 THEN 'transaction' ELSE 'transactions' END)
    FROM ledger.transaction_changes c
    JOIN ledger.final_states f ON f.state = lower(btrim(c.old_value))
    LEFT JOIN ledger.final_states n ON n.state = lower(btrim(c.new_value))
   -- The counts of the lists say without a search that there was none.
   WHERE (SELECT sum(s.final_changes) > 0 FROM ledger.streams s)
     AND c.field = 'state' AND c.observed_at > now() - interval '7 days' AND n.is_success IS DISTINCT FROM f.is_success
  HAVING count(*) > 0
  UNION ALL
  SELECT 'job_failing', j.job, coalesce(j.succeeded_at, j.first_started_at),
         format('%s fails: %s', j.job, coalesce(left(substring(j.error FROM '^[^\r\n]+'), 300), 'no reason was given'))
    FROM jobs j
   -- The lists tell of their own failures.
   WHERE j.job NOT IN ('transactions', 'addresses') AND j.outcome = 'failed'
     AND coalesce(j.succeeded_at, j.first_started_at) < now() - j.patience
)
SELECT f.name, k.severity, f.since, f.what, replace(k.cure, '{subject}', coalesce(f.subject, '')) AS cure
  FROM found f JOIN kinds k ON k.name = f.name
 ORDER BY k.severity, f.since, f.what;
--> statement-breakpoint
COMMENT ON VIEW ledger.unexpected_deposits IS 'Listed deposits of the last 7 days, of the latest 2,000 at the most, to addresses that were neither generated nor handed out here';
COMMENT ON COLUMN ledger.unexpected_deposits.order_no IS 'Order identifier, unique within the service (orderNo)';
COMMENT ON COLUMN ledger.unexpected_deposits.symbol IS 'Coin symbol code (symbol)';
COMMENT ON COLUMN ledger.unexpected_deposits.amount IS 'Amount in units of the coin (amount); null when unreadable, see rejects';
COMMENT ON COLUMN ledger.unexpected_deposits.to_address IS 'Address the funds were sent to (toAddress)';
COMMENT ON COLUMN ledger.unexpected_deposits.kind IS 'foreign: an address list of the service has the address; unknown: none that was read has it';
COMMENT ON COLUMN ledger.unexpected_deposits.is_suspicious IS 'Whether it needs a look: a foreign address that appeared after its list had first been proven complete, or an unknown one although the address lists of all chains of the coin have been read';
COMMENT ON COLUMN ledger.unexpected_deposits.occurred_at IS 'Time of the deposit (time, UTC)';
--> statement-breakpoint
COMMENT ON VIEW ledger.problems IS 'What needs a person now, by severity and age; empty when all is well. Problems of the queue are not visible here: status and the status page add them';
COMMENT ON COLUMN ledger.problems.name IS 'Kind of the problem, such as pool_empty; a kind always has the same severity';
COMMENT ON COLUMN ledger.problems.severity IS 'critical: act now; warning: it can wait for working hours';
COMMENT ON COLUMN ledger.problems.since IS 'Since when it stands, as far as is known; null where it is not';
COMMENT ON COLUMN ledger.problems.what IS 'What is wrong, in words; may quote the service, one line of 300 characters at the most';
COMMENT ON COLUMN ledger.problems.cure IS 'What to do about it';
