-- A proof, a day and an event belong to a wallet. The events of all wallets are one series, so that a consumer keeps one
-- position; their order is kept per wallet and key.
COMMENT ON COLUMN ledger.events.wallet IS 'Wallet whose row changed; empty for problems of the whole database';
COMMENT ON COLUMN ledger.events.key IS 'What it happened to: order number of a transaction; slip44/symbol/contract of a balance; slip44/address; name of a list, a wallet or a problem. Two wallets may use the same key. Events of one wallet and key are in the order of the commits';
COMMENT ON COLUMN engine.outbox.wallet IS 'As events.wallet';
COMMENT ON COLUMN engine.raised_problems.wallet IS 'As problems.wallet';
COMMENT ON COLUMN engine.deliveries.key IS 'Wallet and key of the event; of one wallet and key only the first one is sent';
--> statement-breakpoint
CREATE OR REPLACE FUNCTION ledger.note_proof() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  INSERT INTO ledger.stream_proofs (wallet, name, observed_at, is_complete, service_total, ledger_count, reason)
  SELECT s.wallet, s.name, clock_timestamp(), s.is_complete, s.service_total, s.ledger_count, s.not_complete_because
    FROM ledger.streams s
   WHERE s.wallet = NEW.wallet AND s.name = NEW.name
     AND s.is_complete IS DISTINCT FROM coalesce((SELECT p.is_complete FROM ledger.stream_proofs p
                                                   WHERE p.wallet = NEW.wallet AND p.name = NEW.name
                                                   ORDER BY p.id DESC LIMIT 1), false);
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION ledger.note_new_day() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  UPDATE ledger.streams s SET verified_through = NULL
   WHERE s.wallet = NEW.wallet AND s.name = NEW.stream AND s.verified_through IS NOT NULL;
  RETURN NULL;
END $$;
--> statement-breakpoint
-- Counts the days of the lists that the statement touched, and of no others.
CREATE OR REPLACE FUNCTION ledger.note_verified_through() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    PERFORM engine.find_verified_through(o.wallet, o.stream)
       FROM (SELECT DISTINCT x.wallet, x.stream FROM old_rows x ORDER BY 1, 2) AS o;
  ELSE
    PERFORM engine.find_verified_through(c.wallet, c.stream)
       FROM (SELECT DISTINCT x.wallet, x.stream
               FROM ((SELECT o.wallet, o.stream, o.day, o.verified_at FROM old_rows o
                      EXCEPT SELECT n.wallet, n.stream, n.day, n.verified_at FROM new_rows n)
                     UNION ALL
                     (SELECT n.wallet, n.stream, n.day, n.verified_at FROM new_rows n
                      EXCEPT SELECT o.wallet, o.stream, o.day, o.verified_at FROM old_rows o)) AS x
              ORDER BY 1, 2) AS c;
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE FUNCTION engine.find_verified_through(of_wallet text, of_stream text) RETURNS void
LANGUAGE sql
SET search_path = pg_catalog, pg_temp
AS $$
UPDATE ledger.streams s SET verified_through = c.verified_through
  FROM (SELECT CASE WHEN bool_and(x.verified_at IS NOT NULL) THEN min(x.verified_at) END AS verified_through
          FROM ledger.coverage x
         WHERE x.wallet = of_wallet AND x.stream = of_stream AND x.transactions > 0 HAVING count(*) > 0) AS c
 WHERE s.wallet = of_wallet AND s.name = of_stream AND s.verified_through IS DISTINCT FROM c.verified_through
$$;
--> statement-breakpoint
COMMENT ON FUNCTION engine.find_verified_through IS 'Stores the oldest verification of the days of a list';
--> statement-breakpoint
DROP TRIGGER coverage_verified ON ledger.coverage;
CREATE TRIGGER coverage_verified AFTER UPDATE ON ledger.coverage
  REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION ledger.note_verified_through();
CREATE TRIGGER coverage_deleted AFTER DELETE ON ledger.coverage
  REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION ledger.note_verified_through();
--> statement-breakpoint
-- A row that is moved by hand leaves one wallet and enters another.
DROP TRIGGER transactions_moved ON ledger.transactions;
CREATE TRIGGER transactions_moved AFTER UPDATE ON ledger.transactions FOR EACH ROW
  WHEN (OLD.wallet <> NEW.wallet OR OLD.is_listed <> NEW.is_listed OR OLD.stream <> NEW.stream
        OR OLD.occurred_at IS DISTINCT FROM NEW.occurred_at OR OLD.list_word IS DISTINCT FROM NEW.list_word
        OR OLD.also_listed_in IS DISTINCT FROM NEW.also_listed_in)
  EXECUTE FUNCTION ledger.count_moved();
--> statement-breakpoint
DROP FUNCTION engine.emit(text, text, jsonb);
--> statement-breakpoint
CREATE FUNCTION engine.emit(kind text, key text, data jsonb, wallet text DEFAULT engine.wallet()) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  INSERT INTO engine.outbox (wallet, kind, key, data) VALUES (emit.wallet, emit.kind, emit.key, emit.data);
  PERFORM pg_notify('ledger_outbox', '');
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION engine.emit IS 'Writes an event that has no number yet, and wakes the daemons; of the session''s wallet unless one is named';
--> statement-breakpoint
-- The event has the wallet in a column of its own.
CREATE OR REPLACE FUNCTION engine.facts_of(stored jsonb, money text[]) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
SELECT stored - '{wallet,observation,observed_at,detail_synced_at,first_detail_at,first_detail_filled,seal,list_word,detail_word}'::text[]
       || (SELECT jsonb_object_agg(m.name, stored ->> m.name) FROM unnest(money) AS m (name))
$$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION engine.emit_address_use() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM ledger.transactions t
                  WHERE t.wallet = NEW.wallet AND t.order_no = NEW.first_deposit_order_no AND t.is_backfilled) THEN
    PERFORM engine.emit('address.used', concat_ws('/', NEW.slip44, NEW.address),
                        jsonb_build_object('slip44', NEW.slip44, 'address', NEW.address, 'status', NEW.status,
                                           'reference', NEW.assigned_to, 'first_deposit_order_no', NEW.first_deposit_order_no,
                                           'first_deposit_at', NEW.first_deposit_at), NEW.wallet);
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION engine.emit_balance() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  after jsonb := engine.facts_of(to_jsonb(NEW), '{balance,frozen}');
  before jsonb := CASE WHEN TG_OP = 'UPDATE' THEN engine.facts_of(to_jsonb(OLD), '{balance,frozen}') ELSE '{}' END;
  changed jsonb := (SELECT jsonb_agg(v.key ORDER BY v.key) FROM jsonb_each(after - 'changed_at') AS v
                     WHERE v.value IS DISTINCT FROM before -> v.key);
BEGIN
  IF changed IS NOT NULL THEN
    PERFORM engine.emit('balance.changed', concat_ws('/', NEW.slip44, NEW.symbol, nullif(NEW.contract_address, '')),
                        after || jsonb_build_object('changed', CASE WHEN TG_OP = 'UPDATE' THEN changed END), NEW.wallet);
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION engine.emit_proof() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  PERFORM engine.emit(CASE WHEN NEW.is_complete THEN 'stream.complete' ELSE 'stream.incomplete' END, NEW.name,
                      to_jsonb(NEW) - '{id,wallet}'::text[], NEW.wallet);
  RETURN NULL;
END $$;
--> statement-breakpoint
-- All wallets have moved with their database, so each has an event.
CREATE OR REPLACE FUNCTION engine.emit_move() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  PERFORM engine.emit('wallet.moved', w.wallet,
                      jsonb_build_object('epoch', NEW.epoch, 'what', NEW.what, 'noticed_at', NEW.noticed_at), w.wallet)
     FROM (SELECT n.wallet FROM engine.wallet_names n ORDER BY n.wallet) AS w;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION engine.emit_new_transactions() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  INSERT INTO engine.outbox (wallet, kind, key, data)
  SELECT f.wallet, k.kind, f.order_no, f.data
    FROM (SELECT n.wallet, n.order_no, n.is_final,
                 engine.facts_of(to_jsonb(n), '{amount,fee}')
                   || jsonb_build_object(
                        'reference', CASE WHEN n.stream = 'deposit' THEN engine.reference_of(n.wallet, n.to_address) END,
                        'changed', NULL) AS data
            FROM new_rows n WHERE NOT n.is_backfilled OFFSET 0) AS f
    JOIN (VALUES (1, 'transaction.seen'), (2, 'transaction.final')) AS k (no, kind) ON k.no = 1 OR f.is_final
   ORDER BY f.wallet, f.order_no, k.no;
  IF FOUND THEN PERFORM pg_notify('ledger_outbox', ''); END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION engine.emit_changed_transactions()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_nestloop TO 'off'
 SET jit TO 'off'
AS $function$
BEGIN
  INSERT INTO engine.outbox (wallet, kind, key, data)
  SELECT c.wallet, k.kind, c.order_no,
         c.after || jsonb_build_object(
           'reference', CASE WHEN c.stream = 'deposit' THEN engine.reference_of(c.wallet, c.to_address) END,
           'changed', (SELECT jsonb_agg(v.key ORDER BY v.key) FROM jsonb_each(c.after - 'changed_at') AS v
                        WHERE v.value IS DISTINCT FROM c.before -> v.key))
    FROM (SELECT n.wallet, n.order_no, n.stream, n.to_address, n.is_listed,
                 o.is_listed <> n.is_listed AS moved,
                 o.is_final AND NOT (n.is_final AND n.is_success = o.is_success) AS reopened,
                 n.is_final AND NOT (o.is_final AND n.is_success = o.is_success) AS ended,
                 engine.facts_of(to_jsonb(o), '{amount,fee}') AS before, engine.facts_of(to_jsonb(n), '{amount,fee}') AS after
            FROM old_rows o JOIN new_rows n ON n.wallet = o.wallet AND n.order_no = o.order_no
           WHERE (o.is_listed, o.is_final, o.is_success, o.is_backfilled, o.stream, o.type, o.state,
                  o.confirm_num, o.amount::text, o.fee::text, o.symbol, o.fee_symbol, o.request_id, o.tx_hash,
                  o.from_address, o.to_address, o.occurred_at, o.also_listed_in, o.extra)
                 IS DISTINCT FROM
                 (n.is_listed, n.is_final, n.is_success, n.is_backfilled, n.stream, n.type, n.state,
                  n.confirm_num, n.amount::text, n.fee::text, n.symbol, n.fee_symbol, n.request_id, n.tx_hash,
                  n.from_address, n.to_address, n.occurred_at, n.also_listed_in, n.extra)
             AND NOT (n.is_backfilled AND o.detail_synced_at IS NULL AND n.detail_synced_at IS NOT NULL
                      AND (o.is_listed, o.is_final, o.is_success, o.is_backfilled, o.stream)
                        = (n.is_listed, n.is_final, n.is_success, n.is_backfilled, n.stream)
                      AND (o.extra IS NULL OR o.extra <@ n.extra)
                      AND (coalesce(o.type, n.type), coalesce(o.state, n.state),
                           coalesce(o.confirm_num, n.confirm_num), coalesce(o.amount, n.amount)::text,
                           coalesce(o.fee, n.fee)::text, coalesce(o.symbol, n.symbol),
                           coalesce(o.fee_symbol, n.fee_symbol), coalesce(o.request_id, n.request_id),
                           coalesce(o.tx_hash, n.tx_hash), coalesce(o.from_address, n.from_address),
                           coalesce(o.to_address, n.to_address), coalesce(o.occurred_at, n.occurred_at),
                           coalesce(o.also_listed_in, n.also_listed_in))
                          IS NOT DISTINCT FROM
                          (n.type, n.state, n.confirm_num, n.amount::text, n.fee::text, n.symbol, n.fee_symbol,
                           n.request_id, n.tx_hash, n.from_address, n.to_address, n.occurred_at,
                           n.also_listed_in))
          OFFSET 0) AS c
   CROSS JOIN LATERAL (
         VALUES (1, CASE WHEN c.is_listed THEN 'transaction.relisted' ELSE 'transaction.unlisted' END, c.moved),
                (2, 'transaction.reopened', c.reopened),
                (3, 'transaction.final', c.ended),
                (4, 'transaction.changed', NOT (c.moved OR c.reopened OR c.ended))) AS k (no, kind, happened)
   WHERE k.happened
   ORDER BY c.wallet, c.order_no, k.no;
  IF FOUND THEN PERFORM pg_notify('ledger_outbox', ''); END IF;
  RETURN NULL;
END $function$;
--> statement-breakpoint
-- Says in the former wallet that the row is no longer listed there, and in the new one that it has been seen.
CREATE FUNCTION engine.emit_wallet_change() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF OLD.is_listed THEN
    PERFORM engine.emit('transaction.unlisted', OLD.order_no,
                        engine.facts_of(to_jsonb(OLD), '{amount,fee}')
                          || jsonb_build_object('is_listed', false, 'reference', NULL, 'changed', '["is_listed"]'::jsonb), OLD.wallet);
  END IF;
  PERFORM engine.emit('transaction.seen', NEW.order_no,
                      engine.facts_of(to_jsonb(NEW), '{amount,fee}')
                        || jsonb_build_object(
                             'reference', CASE WHEN NEW.stream = 'deposit' THEN engine.reference_of(NEW.wallet, NEW.to_address) END,
                             'changed', NULL), NEW.wallet);
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER transactions_wallet_emitted AFTER UPDATE ON ledger.transactions FOR EACH ROW
  WHEN (OLD.wallet <> NEW.wallet) EXECUTE FUNCTION engine.emit_wallet_change();
--> statement-breakpoint
CREATE OR REPLACE FUNCTION engine.sequence_events(most integer, OUT numbered integer, OUT is_waiting boolean)
 RETURNS record
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
DECLARE
  head bigint;
BEGIN
  -- A snapshot of the whole transaction may miss numbers that another session has given meanwhile.
  IF current_setting('transaction_isolation') <> 'read committed' OR NOT pg_try_advisory_xact_lock(7246005) THEN
    RETURN;
  END IF;
  head := ledger.events_head();
  WITH page AS MATERIALIZED (
    SELECT o.id, o.xact >= pg_snapshot_xmin(s.running) AND o.xact < pg_snapshot_xmax(s.running) AS waits
      FROM engine.outbox o, (SELECT pg_current_snapshot() AS running OFFSET 0) AS s
     ORDER BY o.id LIMIT most),
  taken AS (
    DELETE FROM engine.outbox o USING page p
     WHERE o.id = p.id AND NOT EXISTS (SELECT FROM page w WHERE w.waits AND w.id <= p.id)
    RETURNING o.id, o.wallet, o.kind, o.key, o.data),
  stored AS (
    INSERT INTO ledger.events (seq, recorded_at, wallet, kind, key, data)
    SELECT head + row_number() OVER (ORDER BY t.id), statement_timestamp(), t.wallet, t.kind, t.key, t.data FROM taken t ORDER BY t.id
    RETURNING seq)
  SELECT (SELECT count(*) FROM stored), (SELECT coalesce(bool_or(p.waits), false) FROM page p) INTO numbered, is_waiting;
  IF numbered > 0 THEN PERFORM pg_notify('ledger_events', (head + numbered)::text); END IF;
END $function$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION engine.take_over_events(receiver text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
DECLARE
  done bigint := (SELECT w.position FROM engine.webhooks w
                   WHERE w.name = receiver AND w.paused_at IS NULL AND w.position < ledger.events_head() FOR UPDATE);
  room bigint := 5000 - (SELECT count(*) FROM engine.deliveries d WHERE d.receiver = take_over_events.receiver);
BEGIN
  IF done IS NULL OR NOT EXISTS (SELECT FROM ledger.events e WHERE e.seq = done + 1) THEN RETURN; END IF;
  WITH page AS MATERIALIZED (
    SELECT e.seq, e.wallet || '/' || e.key AS key FROM ledger.events e WHERE e.seq > done ORDER BY e.seq LIMIT greatest(0, room)),
  stored AS (
    INSERT INTO engine.deliveries (receiver, seq, key) SELECT take_over_events.receiver, p.seq, p.key FROM page p
    ON CONFLICT DO NOTHING)
  UPDATE engine.webhooks w SET position = p.last
    FROM (SELECT max(page.seq) AS last FROM page) AS p WHERE w.name = take_over_events.receiver AND p.last IS NOT NULL;
END $function$;
--> statement-breakpoint
UPDATE engine.deliveries SET key = 'main/' || key;
--> statement-breakpoint
DROP FUNCTION engine.claim_delivery(text, bigint);
--> statement-breakpoint
CREATE FUNCTION engine.claim_delivery(receiver text, seq bigint)
RETURNS TABLE (attempt integer, recorded_at timestamptz, wallet text, kind text, key text, data jsonb)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
  PERFORM FROM engine.webhooks w WHERE w.name = claim_delivery.receiver FOR NO KEY UPDATE;
  RETURN QUERY
  UPDATE engine.deliveries d SET claimed_until = now() + interval '30 seconds', attempts = d.attempts + 1
    FROM engine.due_deliveries u, ledger.events e
   WHERE u.receiver = claim_delivery.receiver AND u.seq = claim_delivery.seq
     AND d.receiver = u.receiver AND d.seq = u.seq AND e.seq = d.seq
  RETURNING d.attempts, e.recorded_at, e.wallet, e.kind, e.key, e.data;
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION engine.claim_delivery IS 'Claims an event for one attempt, and returns it; no row when it may not be sent now';
--> statement-breakpoint
CREATE OR REPLACE VIEW ledger.sync_health AS
SELECT s.name, s.is_complete, s.service_total, s.ledger_count,
       trunc(extract(epoch FROM now() - s.last_success_at))::bigint AS lag_seconds, s.last_success_at,
       left(substring(s.last_error, '^[^\r\n]+'), 300) AS last_error, s.not_complete_because, s.verified_through,
       (SELECT min(c.verified_at) FROM ledger.coverage c
         WHERE c.wallet = s.wallet AND c.stream = s.name AND c.transactions > 0) AS oldest_verified_at,
       s.wallet
  FROM ledger.streams s;
--> statement-breakpoint
CREATE OR REPLACE VIEW ledger.waiting_details AS
SELECT c.order_no, c.is_final, greatest(c.due_at, c.claimed_until) AS due_at, c.refusals, false AS is_unscheduled, c.wallet
  FROM engine.detail_checks c
UNION ALL
SELECT t.order_no, true, t.first_seen_at, 0::smallint, true, t.wallet
  FROM ledger.transactions t
 WHERE t.is_final AND t.is_backfilled AND t.is_listed AND t.detail_synced_at IS NULL
   AND NOT EXISTS (SELECT FROM engine.detail_checks c WHERE c.wallet = t.wallet AND c.order_no = t.order_no);
--> statement-breakpoint
COMMENT ON COLUMN ledger.sync_health.wallet IS 'Wallet that the list belongs to';
COMMENT ON COLUMN ledger.waiting_details.wallet IS 'Wallet that the transaction belongs to';
--> statement-breakpoint
-- The problems of one wallet. They are found in a function, because each of its statements reads the schema own.
CREATE FUNCTION engine.problems_of(of_wallet text)
RETURNS TABLE (name text, severity text, since timestamptz, what text, cure text)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 5
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
#variable_conflict use_column
DECLARE
  former text := current_setting('ledger.wallet', true);
BEGIN
  PERFORM set_config('ledger.wallet', of_wallet, true);
  RETURN QUERY
  WITH kinds (name, severity, cure) AS (
    VALUES
      ('daemon_silent', 'critical', 'check that `wallet-ledger start` runs; its log says why it ended'),
      ('stream_stale', 'critical', '`wallet-ledger doctor` checks settings, signature, clock and service; reading is retried on schedule'),
      ('addresses_stale', 'warning', '`wallet-ledger doctor` checks settings, signature, clock and service; then `wallet-ledger sync addresses`'),
      ('stream_failing', 'warning', '`wallet-ledger doctor` checks settings, signature, clock and service; reading is retried on schedule'),
      ('stream_unread', 'warning', 'run `wallet-ledger start`, or `wallet-ledger backfill` once'),
      ('backfill_running', 'warning', 'wait until it ends; `wallet-ledger status` shows how far it is'),
      ('stream_unproven', 'warning', 'wait: the next passes search for the difference; `wallet-ledger verify` names the rows that differ'),
      ('stream_incomplete', 'critical', 'run `wallet-ledger verify --repair`; `wallet-ledger rejects` lists the rows that cannot be stored'),
      ('total_differs', 'warning', '`wallet-ledger verify` compares row by row; ask the operator of the service about its total'),
      ('rows_in_two_lists', 'warning', 'ask the operator of the service which list is right; `select * from ledger.transactions where also_listed_in is not null` names the rows'),
      ('rejects_open', 'warning', '`wallet-ledger rejects` says why, and `wallet-ledger rejects retry` tries again'),
      ('unexplained_difference', 'critical', 'run `wallet-ledger verify`; ledger.reconciliation has the sums'),
      ('pool_empty', 'critical', 'check rights and limits at the service, and POOL_MAX_PER_DAY; then run `wallet-ledger pool refill {subject}`'),
      ('pool_not_filled', 'warning', 'check rights and limits at the service, and POOL_MAX_PER_DAY; filling is retried on schedule'),
      ('pool_below_threshold', 'warning', 'check that `wallet-ledger start` runs, or run `wallet-ledger pool refill {subject}`'),
      ('unexpected_deposits', 'warning', '`select * from ledger.unexpected_deposits where is_suspicious` names them; find out whose addresses they are, and who else generates addresses with this key'),
      ('final_state_undone', 'warning', 'correct the books that counted them; if it happens often, remove the state from WALLET_FINAL_STATES'),
      ('job_failing', 'warning', '`wallet-ledger doctor` checks settings, signature, clock and service; the job runs again on schedule'),
      ('address_shared', 'critical', '`select * from ledger.address_conflicts` names who holds them; give all but one another address, then delete the rows'),
      ('chain_filter_broken', 'critical', 'set WALLET_PARAM_NAMES chain= to the service''s name for the chain parameter; `wallet-ledger doctor` checks it'),
      ('address_refused', 'critical', 'ask the operator of the service, `wallet-ledger rejects` shows what came; then run `wallet-ledger pool refill {subject} --resume`'),
      ('pool_withheld', 'critical', 'find the transaction: `select pid, usename, application_name, xact_start from pg_stat_activity where xact_start is not null order by xact_start`; end it with pg_terminate_backend(pid)')
  ),
  -- The passes of each job: how often it runs, and for how long it may be silent.
  jobs AS MATERIALIZED (
    SELECT j.job, first_run.started_at AS first_started_at, last_run.outcome, last_run.error,
           success.finished_at AS succeeded_at, pace.pace, pace.patience,
           CASE WHEN pace.patience < interval '2 hours' THEN round(extract(epoch FROM pace.patience) / 60) || ' minutes'
                ELSE round(extract(epoch FROM pace.patience) / 3600) || ' hours' END AS patience_words
      FROM (VALUES ('transactions', interval '5 minutes', interval '2 hours'),
                   ('details', interval '5 minutes', NULL), ('balances', interval '5 minutes', NULL),
                   ('coins', interval '5 minutes', NULL), ('addresses', interval '1 hour', NULL),
                   ('pools', interval '5 minutes', NULL), ('audit', interval '5 minutes', NULL))
           AS j (job, patience_min, patience_max)
      LEFT JOIN LATERAL (
        SELECT r.started_at FROM own.sync_runs r
         WHERE r.job >= j.job AND r.job <= j.job ORDER BY r.job, r.id LIMIT 1) AS first_run ON true
      LEFT JOIN LATERAL (
        SELECT r.outcome, r.error FROM own.sync_runs r
         WHERE r.job >= j.job AND r.job <= j.job ORDER BY r.job DESC, r.id DESC LIMIT 1) AS last_run ON true
      LEFT JOIN LATERAL (
        SELECT r.finished_at FROM own.sync_runs r
         WHERE r.job >= j.job AND r.job <= j.job AND r.outcome IN ('done', 'incomplete')
         ORDER BY r.job DESC, r.id DESC LIMIT 1) AS success ON true
     CROSS JOIN LATERAL (
        SELECT m.pace, greatest(j.patience_min, least(2 * m.pace, j.patience_max)) AS patience
          FROM (SELECT CASE WHEN count(g.gap) >= 4 THEN percentile_cont(0.5) WITHIN GROUP (ORDER BY g.gap)
                            ELSE interval '0' END AS pace
                  FROM (SELECT r.started_at - lead(r.started_at) OVER (ORDER BY r.id DESC) AS gap
                          FROM (SELECT x.id, x.started_at FROM own.sync_runs x
                                 WHERE x.job >= j.job AND x.job <= j.job AND x.outcome IN ('done', 'incomplete')
                                 ORDER BY x.job DESC, x.id DESC LIMIT 6) AS r) AS g) AS m) AS pace
  ),
  lists AS MATERIALIZED (
    SELECT s.name, s.service_total, s.ledger_count, s.is_complete, s.not_complete_because, s.is_backed, s.doubt, s.conflicts,
           s.accepted_difference, s.last_success_at, s.last_error, l.is_address_list,
           coalesce(s.lease_until > now(), false) AS is_being_read, j.patience, j.patience_words,
           greatest(interval '1 minute', 2 * j.pace) AS retry_within,
           coalesce(s.last_success_at, j.first_started_at, s.last_error_at) AS read_at,
           proof.observed_at AS proof_changed_at,
           coalesce(proof.observed_at, j.first_started_at, s.last_success_at) AS unproven_since,
           EXISTS (SELECT FROM own.sync_runs r
                    WHERE r.job = j.job AND r.rows_inserted > 0 AND r.finished_at > now() - interval '10 minutes') AS is_growing
      FROM own.streams s
     CROSS JOIN LATERAL (SELECT s.name LIKE 'addresses:%' AS is_address_list) AS l
      JOIN jobs j ON j.job = CASE WHEN l.is_address_list THEN 'addresses' ELSE 'transactions' END
      LEFT JOIN LATERAL (
        SELECT p.observed_at FROM own.stream_proofs p WHERE p.name = s.name ORDER BY p.id DESC LIMIT 1) AS proof ON true
     WHERE s.name IN ('deposit', 'withdraw') OR s.name IN (SELECT 'addresses:' || p.slip44 FROM own.pools p)
  ),
  -- A wallet that rests is not read, so nothing of it can be late.
  life AS MATERIALIZED (
    SELECT l.last_sign_at, coalesce(l.last_sign_at < now() - t.patience, false) AS is_silent, t.patience_words,
           EXISTS (SELECT FROM own.wallets w WHERE w.is_resting) AS is_resting
      FROM (SELECT greatest((SELECT r.finished_at FROM own.sync_runs r ORDER BY r.id DESC LIMIT 1),
                            max(s.last_success_at), max(s.lease_until) - interval '30 seconds') AS last_sign_at
              FROM own.streams s) AS l
      JOIN jobs t ON t.job = 'transactions'
  ),
  unproven AS MATERIALIZED (
    SELECT l.*, l.proof_changed_at IS NOT NULL AS was_proven,
           l.is_backed AND l.doubt IS NULL AND l.conflicts = 0 AND l.accepted_difference <> 0
             AND l.service_total - l.ledger_count = l.accepted_difference AS is_known_difference,
           coalesce(l.proof_changed_at IS NULL AND NOT l.is_backed
                    AND (l.is_being_read OR l.is_growing
                         OR l.last_error IS NULL AND l.last_success_at > now() - l.patience
                            AND coalesce(l.unproven_since > now() - interval '30 minutes', true)), false) AS is_first_reading
      FROM lists l WHERE NOT l.is_complete AND (l.is_being_read OR l.last_success_at IS NOT NULL)
  ),
  pools AS MATERIALIZED (
    SELECT p.slip44, p.threshold, p.target, p.last_error, p.last_error_at, a.available,
           coalesce((SELECT x.assigned_at FROM own.addresses x
                      WHERE x.slip44 = p.slip44 AND x.assigned_at IS NOT NULL
                      ORDER BY x.assigned_at DESC OFFSET greatest(p.threshold - a.available - 1, 0) LIMIT 1),
                    (SELECT max(x.first_seen_at) FROM own.addresses x WHERE x.slip44 = p.slip44 AND x.status = 'available'),
                    p.last_error_at, j.first_started_at) AS low_since
      FROM own.pools p
     CROSS JOIN LATERAL (
        SELECT count(*) AS available FROM own.addresses x WHERE x.slip44 = p.slip44 AND x.status = 'available') AS a
      JOIN jobs j ON j.job = 'pools'
  ),
  found (name, subject, since, what) AS (
    SELECT 'daemon_silent', NULL, f.last_sign_at,
           format('nothing has been read for more than %s: the ledger is out of date', f.patience_words)
      FROM life f WHERE f.is_silent AND NOT f.is_resting
    UNION ALL
    SELECT CASE WHEN l.is_address_list THEN 'addresses_stale' ELSE 'stream_stale' END, l.name, l.read_at,
           format('%s has not been read successfully for more than %s%s', l.name, l.patience_words,
                  ': ' || left(substring(l.last_error, '^[^\r\n]+'), 300))
      FROM lists l CROSS JOIN life f
     WHERE NOT f.is_silent AND NOT f.is_resting AND l.read_at < now() - l.patience
       AND NOT (l.is_being_read AND NOT l.is_complete) AND (l.last_success_at IS NOT NULL OR l.last_error IS NOT NULL)
    UNION ALL
    SELECT 'stream_failing', l.name, l.read_at,
           format('%s cannot be read: %s', l.name, left(substring(l.last_error, '^[^\r\n]+'), 300))
      FROM lists l CROSS JOIN life f
     WHERE NOT f.is_silent AND NOT f.is_resting AND l.last_error IS NOT NULL AND l.read_at >= now() - l.patience
       AND (l.last_success_at IS NULL OR l.last_success_at < now() - l.retry_within)
    UNION ALL
    SELECT 'stream_unread', n.name, (SELECT r.started_at FROM own.sync_runs r ORDER BY r.id LIMIT 1),
           format('%s has not been read yet', n.name)
      FROM (VALUES ('deposit'), ('withdraw')) AS n (name) CROSS JOIN life f LEFT JOIN lists l ON l.name = n.name
     WHERE NOT f.is_resting AND l.last_success_at IS NULL AND l.last_error IS NULL AND l.is_being_read IS NOT TRUE
    UNION ALL
    SELECT 'backfill_running', u.name, u.unproven_since,
           format('%s is not complete yet: its first reading has not ended, %s%s rows are stored', u.name,
                  to_char(u.ledger_count, 'FM999,999,999,999'), ' of ' || to_char(u.service_total, 'FM999,999,999,999'))
      FROM unproven u WHERE u.is_first_reading
    UNION ALL
    SELECT CASE WHEN u.is_known_difference THEN 'total_differs'
                WHEN u.unproven_since < now() - 6 * u.patience THEN 'stream_incomplete'
                ELSE 'stream_unproven' END, u.name, u.unproven_since,
           format('%s is not proven complete: %s', u.name, left(substring(u.not_complete_because, '^[^\r\n]+'), 300))
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
      FROM own.rejects r WHERE r.resolved_at IS NULL HAVING count(*) > 0
    UNION ALL
    SELECT 'unexplained_difference', d.symbol, d.since,
           format('%s%s: the balances hold %s %s than the transactions add up to',
                  left(substring(d.symbol, '^[^\r\n]+'), 300), ' on chain ' || d.slip44, abs(d.amount),
                  CASE WHEN d.amount < 0 THEN 'less' ELSE 'more' END)
      FROM own.unexplained_differences d
    UNION ALL
    SELECT CASE WHEN p.available = 0 THEN 'pool_empty' WHEN p.last_error IS NOT NULL THEN 'pool_not_filled'
                ELSE 'pool_below_threshold' END, p.slip44::text,
           CASE WHEN p.available >= p.threshold THEN p.last_error_at ELSE p.low_since END,
           format('the address pool of chain %s%s', p.slip44,
                  CASE WHEN p.available = 0 THEN ' is empty'
                       WHEN p.available < p.threshold THEN format(' is down to %s of %s addresses', p.available, p.target)
                       ELSE '' END
                  || CASE WHEN p.last_error IS NULL THEN ''
                          ELSE CASE WHEN p.available < p.threshold THEN ', and could' ELSE ' could' END
                               || ' not be filled: ' || left(substring(p.last_error, '^[^\r\n]+'), 300) END)
      FROM pools p
     WHERE p.available = 0 AND p.target > 0 OR p.last_error IS NOT NULL AND p.available < p.target
        OR p.available < p.threshold AND coalesce(p.low_since < now() - interval '2 minutes', true)
    UNION ALL
    SELECT 'unexpected_deposits', NULL, min(d.occurred_at),
           format('%s recent %s went to addresses that this ledger did not generate', count(*),
                  CASE WHEN count(*) = 1 THEN 'deposit' ELSE 'deposits' END)
      FROM own.unexpected_deposits d WHERE d.is_suspicious HAVING count(*) > 0
    UNION ALL
    SELECT 'final_state_undone', NULL, min(c.observed_at),
           format('%s %s changed after reaching a final state', count(DISTINCT c.order_no),
                  CASE WHEN count(DISTINCT c.order_no) = 1 THEN 'transaction' ELSE 'transactions' END)
      FROM own.transaction_changes c
      JOIN own.final_states f ON f.state = lower(btrim(c.old_value))
      LEFT JOIN own.final_states n ON n.state = lower(btrim(c.new_value))
     WHERE (SELECT sum(s.final_changes) > 0 FROM own.streams s) AND c.field = 'state'
       AND c.observed_at > now() - interval '7 days' AND n.is_success IS DISTINCT FROM f.is_success
    HAVING count(*) > 0
    UNION ALL
    SELECT 'job_failing', j.job, coalesce(j.succeeded_at, j.first_started_at),
           format('%s fails: %s', j.job, coalesce(left(substring(j.error, '^[^\r\n]+'), 300), 'no reason was given'))
      FROM jobs j CROSS JOIN life f
     WHERE NOT f.is_resting AND j.job NOT IN ('transactions', 'addresses') AND j.outcome = 'failed'
       AND coalesce(j.succeeded_at, j.first_started_at) < now() - j.patience
    UNION ALL
    SELECT 'address_shared', NULL, min(c.noticed_at),
           format('%s %s been handed out to more than one', count(DISTINCT c.address_key),
                  CASE WHEN count(DISTINCT c.address_key) = 1 THEN 'address has' ELSE 'addresses have' END)
      FROM own.address_conflicts c HAVING count(*) > 0
    UNION ALL
    SELECT 'chain_filter_broken', NULL, p.chain_filter_at,
           'the address list of chain ' || p.slip44 || ' ignores the chain parameter: with ' || p.chain_param
             || ' for a chain that does not exist, it shows the same addresses'
      FROM own.pools p WHERE p.chain_filter = 'broken'
    UNION ALL
    SELECT 'address_refused', p.slip44::text, p.refused_at,
           'the service sent ' || n.refused
             || CASE WHEN n.refused = 1 THEN ' text that is not a valid address' ELSE ' texts that are not valid addresses' END
             || ' of chain ' || p.slip44
             || coalesce(', ' || nullif(n.handed_out, 0) || ' of them handed out before that was known', '')
             || '; nothing is generated for the chain'
      FROM own.pools p
     CROSS JOIN LATERAL (
        SELECT count(*) AS refused, count(a.assigned_at) AS handed_out FROM own.addresses a
         WHERE a.slip44 = p.slip44 AND a.refused IS NOT NULL) AS n
     WHERE p.refused_at IS NOT NULL
    UNION ALL
    SELECT 'pool_withheld', NULL, t.since,
           'chain ' || t.slip44 || ' has available addresses, but take_address returned null: an open transaction holds them'
      FROM (SELECT k.slip44, min(k.taken_at) AS since FROM own.null_takes k
             WHERE k.taken_at > now() - interval '5 minutes'
               AND NOT EXISTS (SELECT FROM own.addresses a WHERE a.slip44 = k.slip44 AND a.assigned_at > k.taken_at)
             GROUP BY k.slip44 HAVING max(k.taken_at) - min(k.taken_at) >= interval '10 seconds') AS t
     WHERE EXISTS (SELECT FROM own.addresses a WHERE a.slip44 = t.slip44 AND a.status = 'available')
  )
  SELECT f.name, k.severity, f.since, f.what, replace(k.cure, '{subject}', coalesce(f.subject, ''))
    FROM found f JOIN kinds k ON k.name = f.name;
  PERFORM set_config('ledger.wallet', coalesce(former, ''), true);
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION engine.problems_of IS 'Problems of a wallet, as ledger.problems shows them';
--> statement-breakpoint
CREATE VIEW engine.database_problems AS
SELECT 'database_moved' AS name, m.severity, m.since, m.what,
       CASE m.severity
         WHEN 'critical' THEN '`wallet-ledger recover` shows what was found; with ON_MOVE=heal a running daemon recovers by itself; otherwise run it with --handed-out FILE or --same'
         ELSE '`wallet-ledger recover` shows what was found; run it with --handed-out FILE, or with --same if nothing was lost' END AS cure
  FROM engine.home_problem m
UNION ALL
SELECT 'addresses_locked', 'warning', h.since,
       'an open transaction locks addresses of the pools, so no other caller can take them: '
         || coalesce('process ' || h.pid, 'a prepared transaction') || coalesce(', role ' || h.role, '')
         || coalesce(', application ' || nullif(h.application, ''), ''),
       'end that transaction' || coalesce(': `select pg_terminate_backend(' || h.pid || ')`', ', see pg_prepared_xacts')
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
SELECT f.name, f.severity, f.since, f.what, f.cure FROM ledger.feed_problems f;
--> statement-breakpoint
COMMENT ON VIEW engine.database_problems IS 'Problems that concern the database, and so all wallets of it, as ledger.problems shows them';
COMMENT ON COLUMN engine.database_problems.name IS 'As problems.name';
COMMENT ON COLUMN engine.database_problems.severity IS 'As problems.severity';
COMMENT ON COLUMN engine.database_problems.since IS 'As problems.since';
COMMENT ON COLUMN engine.database_problems.what IS 'As problems.what';
COMMENT ON COLUMN engine.database_problems.cure IS 'As problems.cure';
--> statement-breakpoint
CREATE OR REPLACE VIEW ledger.problems AS
SELECT p.name, p.severity, p.since, p.what, p.cure, p.wallet
  FROM (SELECT o.name, o.severity, o.since, o.what, o.cure, w.wallet
          FROM engine.wallet_names w CROSS JOIN LATERAL engine.problems_of(w.wallet) AS o
        UNION ALL
        SELECT d.name, d.severity, d.since, d.what, d.cure, '' FROM engine.database_problems d) AS p
 ORDER BY p.severity, p.since, p.what;
--> statement-breakpoint
COMMENT ON COLUMN ledger.problems.wallet IS 'Wallet that has the problem; empty for a problem of the whole database, which is there once';
--> statement-breakpoint
CREATE OR REPLACE FUNCTION engine.note_problems() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF NOT pg_try_advisory_xact_lock(7246008) THEN RETURN; END IF;
  WITH standing AS MATERIALIZED (
    SELECT DISTINCT ON (p.wallet, p.name, p.severity) p.wallet, p.name, p.severity, p.since, p.what, p.cure
      FROM ledger.problems p ORDER BY p.wallet, p.name, p.severity, p.since),
  cleared AS (
    DELETE FROM engine.raised_problems r
     WHERE NOT EXISTS (SELECT FROM standing s WHERE (s.wallet, s.name, s.severity) = (r.wallet, r.name, r.severity))
    RETURNING r.wallet, r.name, r.severity, r.since, r.what, r.cure),
  raised AS (
    INSERT INTO engine.raised_problems AS r (wallet, name, severity, since, what, cure)
    SELECT s.wallet, s.name, s.severity, s.since, s.what, s.cure FROM standing s
     WHERE NOT EXISTS (SELECT FROM engine.raised_problems o
                        WHERE (o.wallet, o.name, o.severity) = (s.wallet, s.name, s.severity))
    RETURNING r.wallet, r.name, r.severity, r.since, r.what, r.cure)
  INSERT INTO engine.outbox (wallet, kind, key, data)
  SELECT c.wallet, 'problem.cleared', c.name, to_jsonb(c) - 'wallet' FROM cleared c
  UNION ALL
  SELECT r.wallet, 'problem.raised', r.name, to_jsonb(r) - 'wallet' FROM raised r;
  IF FOUND THEN PERFORM pg_notify('ledger_outbox', ''); END IF;
END $$;
--> statement-breakpoint
UPDATE engine.raised_problems SET wallet = ''
 WHERE name IN ('database_moved', 'addresses_locked') OR starts_with(name, 'feed_');
--> statement-breakpoint
SELECT engine.make_own_views();
--> statement-breakpoint
SELECT engine.settle_rights();
