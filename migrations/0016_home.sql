-- A schema that outlived a ledger which was dropped remembers another database's home.
DROP VIEW IF EXISTS "engine"."home_problem";
DROP TABLE IF EXISTS "engine"."home", "engine"."moves", "engine"."ticket_witness";
--> statement-breakpoint
CREATE TABLE "engine"."home" (
	"id" integer PRIMARY KEY DEFAULT 1 NOT NULL,
	"epoch" integer NOT NULL,
	"begun_at" timestamp with time zone NOT NULL,
	"own_xid" "xid" NOT NULL,
	"own_oid" "oid" NOT NULL,
	"addresses_oid" "oid" NOT NULL,
	"database_oid" "oid" NOT NULL,
	"system_identifier" bigint,
	"timeline" text,
	"disturbed_by" text,
	CONSTRAINT "home_one_row" CHECK ("engine"."home"."id" = 1)
);
--> statement-breakpoint
CREATE TABLE "engine"."moves" (
	"epoch" integer PRIMARY KEY NOT NULL,
	"what" text NOT NULL,
	"noticed_at" timestamp with time zone NOT NULL,
	"healed_at" timestamp with time zone,
	"set_aside" integer,
	"closed_requests" integer,
	"acknowledged_at" timestamp with time zone
);
--> statement-breakpoint
CREATE UNLOGGED TABLE "engine"."ticket_witness" (
	"own_xid" "xid" NOT NULL,
	"database_oid" "oid" NOT NULL
);
--> statement-breakpoint
CREATE TABLE "ledger"."wallets" (
	"wallet" text PRIMARY KEY NOT NULL,
	"base_url" text NOT NULL,
	"key_fingerprint" text NOT NULL,
	"first_seen_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
-- What tells this place from another one. Asked once an epoch; a fact that the server hides is left out.
CREATE OR REPLACE FUNCTION engine.home_facts(OUT own_oid oid, OUT addresses_oid oid, OUT database_oid oid, OUT system_identifier bigint,
                                             OUT timeline text)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  own_oid := 'engine.home'::regclass;
  addresses_oid := 'ledger.addresses'::regclass;
  SELECT d.oid INTO database_oid FROM pg_database d WHERE d.datname = current_database();
  BEGIN
    SELECT c.system_identifier INTO system_identifier FROM pg_control_system() c;
  EXCEPTION WHEN OTHERS THEN
    system_identifier := NULL;
  END;
  -- Of the place where the next record goes: a promotion shows at once, not only after its first checkpoint.
  BEGIN
    timeline := left(pg_walfile_name(pg_current_wal_insert_lsn()), 8);
  EXCEPTION WHEN OTHERS THEN
    timeline := NULL;
  END;
END $$;
--> statement-breakpoint
-- Null: the database is where it was. Otherwise, in words, what is different. The facts that cost a look outside the
-- catalogue come last. The row's own xmin survives VACUUM of every kind, and no way of writing the row again.
CREATE OR REPLACE FUNCTION engine.home_state() RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  home record;
BEGIN
  SELECT h.xmin = h.own_xid AS is_own_row, h.tableoid = h.own_oid AS is_own_table,
         h.addresses_oid = 'ledger.addresses'::regclass AS is_own_addresses,
         h.database_oid = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()) AS is_own_database,
         h.system_identifier, h.timeline, h.disturbed_by
    INTO home FROM engine.home h;
  IF NOT FOUND THEN
    RETURN 'the row that says where the database lives is missing';
  ELSIF home.disturbed_by IS NOT NULL THEN
    RETURN home.disturbed_by;
  ELSIF NOT home.is_own_database THEN
    RETURN 'it is a copy: it lies in another database';
  ELSIF NOT (home.is_own_table AND home.is_own_addresses) THEN
    RETURN 'it was restored: its tables were made anew';
  ELSIF NOT home.is_own_row THEN
    RETURN 'it was restored: its rows were written anew';
  ELSIF home.system_identifier IS NOT NULL
    AND has_function_privilege('pg_catalog.pg_control_system()'::regprocedure, 'EXECUTE') THEN
    IF home.system_identifier <> (SELECT c.system_identifier FROM pg_control_system() c) THEN
      RETURN 'it lies in another cluster of databases';
    END IF;
  END IF;
  IF home.timeline IS NOT NULL AND NOT pg_is_in_recovery() THEN
    IF home.timeline <> left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) THEN
      RETURN 'its log goes on along another timeline: a standby was promoted, or it was recovered to a point in time';
    END IF;
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
-- Called by every take_address: with rights and a path of its own it would take half as long again.
CREATE OR REPLACE FUNCTION engine.require_home() RETURNS void
LANGUAGE plpgsql STABLE
AS $$
DECLARE
  away text := engine.home_state();
BEGIN
  IF away IS NOT NULL THEN
    RAISE EXCEPTION 'the database has moved (%): addresses that it calls available may have been handed out', away
      USING ERRCODE = 'WL001',
            HINT = 'with ON_MOVE=heal a running wallet-ledger daemon sets it right within a minute; otherwise run `wallet-ledger recover`';
  END IF;
END $$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION engine.current_epoch() RETURNS integer
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$ SELECT h.epoch FROM engine.home h $$;
--> statement-breakpoint
-- For what no fact of the place shows: from now on the database counts as moved.
CREATE OR REPLACE FUNCTION engine.disturb_home(reason text) RETURNS void
LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$ UPDATE engine.home SET disturbed_by = reason WHERE disturbed_by IS NULL $$;
--> statement-breakpoint
-- Rows of addresses are never deleted by the program: whoever does it is about to load others. A restore of data
-- alone may switch triggers off for its own loading, but its tables must be emptied before.
CREATE OR REPLACE FUNCTION engine.notice_emptying() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF TG_OP = 'TRUNCATE' THEN
    PERFORM engine.disturb_home('ledger.addresses was emptied');
  ELSIF EXISTS (SELECT FROM gone) THEN
    PERFORM engine.disturb_home('rows of ledger.addresses were deleted');
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER addresses_emptied AFTER TRUNCATE ON ledger.addresses
  FOR EACH STATEMENT EXECUTE FUNCTION engine.notice_emptying();
CREATE TRIGGER addresses_deleted AFTER DELETE ON ledger.addresses
  REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION engine.notice_emptying();
--> statement-breakpoint
-- Where nobody else generates addresses with the key (POOL_EXCLUSIVE), an address that the list newly shows and that no
-- request of this epoch explains was generated by a ledger that is no more.
CREATE OR REPLACE FUNCTION engine.notice_foreign(chain integer) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  strangers bigint;
BEGIN
  SELECT count(*) INTO strangers
    FROM ledger.addresses a
   WHERE a.slip44 = chain AND a.status = 'foreign' AND a.generated_by IS NULL AND a.set_aside_epoch IS NULL
     AND a.first_seen_at > (SELECT min(p.observed_at) FROM ledger.stream_proofs p, engine.home h
                             WHERE p.name = 'addresses:' || chain AND p.is_complete AND p.observed_at >= h.begun_at)
     AND NOT EXISTS (SELECT FROM ledger.address_requests r
                      WHERE r.slip44 = chain AND (r.state <> 'done' OR r.received IS DISTINCT FROM r.num)
                        AND r.requested_at < a.first_seen_at AND r.requested_at > a.first_seen_at - interval '24 hours');
  IF strangers > 0 THEN
    PERFORM engine.disturb_home(format('the service lists %s addresses of chain %s that were generated elsewhere', strangers, chain));
  END IF;
END $$;
--> statement-breakpoint
INSERT INTO engine.home (epoch, begun_at, own_xid, own_oid, addresses_oid, database_oid, system_identifier, timeline)
SELECT 1, now(), pg_current_xact_id()::xid, f.own_oid, f.addresses_oid, f.database_oid, f.system_identifier, f.timeline
  FROM engine.home_facts() f;
INSERT INTO engine.ticket_witness
SELECT pg_current_xact_id()::xid, d.oid FROM pg_database d WHERE d.datname = current_database();
--> statement-breakpoint
ALTER TABLE "ledger"."address_requests" ADD COLUMN "epoch" integer DEFAULT engine.current_epoch() NOT NULL;--> statement-breakpoint
ALTER TABLE "ledger"."addresses" ADD COLUMN "set_aside_epoch" integer;--> statement-breakpoint
ALTER TABLE "ledger"."request_tickets" ADD COLUMN "slot_seconds" double precision DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "ledger"."request_tickets" ADD COLUMN "paused_until" timestamp with time zone DEFAULT now() NOT NULL;--> statement-breakpoint
ALTER TABLE "ledger"."request_tickets" ADD COLUMN "asked_at" timestamp with time zone DEFAULT now() NOT NULL;--> statement-breakpoint
ALTER TABLE "ledger"."request_tickets" ADD COLUMN "nonce_ceiling" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "ledger"."request_tickets" ADD COLUMN "observation_ceiling" bigint DEFAULT 0 NOT NULL;
--> statement-breakpoint
-- Before the home was known a call took whatever was available.
CREATE OR REPLACE FUNCTION ledger.take_address(slip44 integer, reference text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_sort = off
AS $$
#variable_conflict use_column
DECLARE
  taken text;
  last_seen_at timestamptz;
  last_address text;
  has_lost boolean := false;
BEGIN
  PERFORM engine.require_home();
  FOR attempt IN 1..20 LOOP
    IF take_address.reference IS NOT NULL THEN
      SELECT a.address INTO taken FROM ledger.addresses a
       WHERE a.slip44 = take_address.slip44 AND a.assigned_to = take_address.reference;
      IF FOUND THEN RETURN taken; END IF;
    END IF;
    SELECT a.first_seen_at, a.address INTO last_seen_at, last_address FROM ledger.addresses a
     WHERE a.slip44 = take_address.slip44 AND a.assigned_at IS NOT NULL
     ORDER BY a.assigned_at DESC LIMIT 1;
    BEGIN
      UPDATE ledger.addresses t
         SET status = 'assigned', assigned_to = take_address.reference, assigned_at = clock_timestamp()
       WHERE t.slip44 = take_address.slip44
         AND t.address = coalesce(
           (SELECT a.address FROM ledger.addresses a
             WHERE a.slip44 = take_address.slip44 AND a.status = 'available'
               AND (a.first_seen_at, a.address) > (last_seen_at, last_address)
             ORDER BY a.first_seen_at, a.address LIMIT 1 FOR UPDATE SKIP LOCKED),
           (SELECT a.address FROM ledger.addresses a
             WHERE a.slip44 = take_address.slip44 AND a.status = 'available'
             ORDER BY a.first_seen_at, a.address LIMIT 1 FOR UPDATE SKIP LOCKED))
      RETURNING t.address INTO taken;
      IF FOUND THEN RETURN taken; END IF;
      has_lost := false;
    EXCEPTION WHEN unique_violation THEN
      has_lost := true;
    END;
    CONTINUE WHEN has_lost;
    EXIT WHEN NOT EXISTS (SELECT FROM ledger.addresses a
                           WHERE a.slip44 = take_address.slip44 AND a.status = 'available');
    -- The last ones are in other hands, and may come back.
    PERFORM pg_sleep(0.01);
  END LOOP;
  -- Only where the call's snapshot is older than the other's success: repeatable read.
  IF has_lost THEN
    RAISE EXCEPTION 'another call took an address for the reference; run the transaction again'
      USING ERRCODE = 'serialization_failure';
  END IF;
  -- The last one may just have gone to another call with this reference.
  SELECT a.address INTO taken FROM ledger.addresses a
   WHERE a.slip44 = take_address.slip44 AND a.assigned_to = take_address.reference;
  RETURN taken;
END $$;
--> statement-breakpoint
-- A function with another result is another function: what was granted on the old one is granted on the new one.
SELECT set_config('wallet_ledger.granted', coalesce(string_agg(g.grantee::regrole::text, ','), ''), true)
  FROM pg_proc p, aclexplode(p.proacl) g
 WHERE p.oid = 'ledger.take_tickets'::regproc AND g.grantee NOT IN (0, p.proowner);
--> statement-breakpoint
DROP FUNCTION ledger.take_tickets(integer, double precision, text);
--> statement-breakpoint
-- n tickets in one round trip. The row's lock puts the callers of all processes in one order, so observation numbers,
-- nonces and slots rise together.
-- The commit does not wait for the disk. So no number is given out above a ceiling that was made durable before; the
-- ceilings are raised, in big steps and long before they are reached, by a commit that does wait. The witness is lost
-- in a crash and on a standby, and known by its xmin or its database in a copy: then numbers go on at the ceiling.
-- Slots lie 1 % wider than the budget asks for, and those that nobody took are given out for 50 ms more. The queue
-- before a slot explains it: a queue of slower slots shrinks to the same number of this caller's, and where the clock
-- went back the slots go back with it.
CREATE FUNCTION ledger.take_tickets(n integer, max_rps double precision, nonce_unit text)
RETURNS TABLE (observation bigint, nonce bigint, wait_ms double precision, asked_ms double precision)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  ticket ledger.request_tickets%ROWTYPE;
  now_at timestamptz;
  went_back interval;
  first_nonce bigint;
  first_observation bigint;
  ahead double precision;
  slot double precision := coalesce(1.01 / max_rps, 0);
  second bigint := CASE nonce_unit WHEN 'us' THEN 1000000 ELSE 1000 END;
  observation_step CONSTANT bigint := 1000000;
  nonce_step bigint := 5 * second;
BEGIN
  SELECT * INTO STRICT ticket FROM ledger.request_tickets WHERE id = 1 FOR UPDATE;
  now_at := clock_timestamp();
  PERFORM FROM engine.ticket_witness w
    JOIN pg_database d ON d.oid = w.database_oid AND d.datname = current_database()
   WHERE w.xmin = w.own_xid;
  IF NOT FOUND THEN
    DELETE FROM engine.ticket_witness;
    INSERT INTO engine.ticket_witness
    SELECT pg_current_xact_id()::xid, d.oid FROM pg_database d WHERE d.datname = current_database();
    -- Nonces that were given out since the state to which the database went back are behind the clock, or no further
    -- ahead of it than this.
    ticket.last_nonce := greatest(ticket.last_nonce, ticket.nonce_ceiling,
                                  floor(extract(epoch FROM now_at) * second)::bigint + 2 * nonce_step);
    PERFORM setval('ledger.observations', greatest(o.last_value, ticket.observation_ceiling)) FROM ledger.observations o;
  END IF;
  first_nonce := greatest(ticket.last_nonce + 1, floor(extract(epoch FROM now_at) * second)::bigint);
  SELECT o.last_value + 1 INTO first_observation FROM ledger.observations o;
  IF first_nonce + n + nonce_step > ticket.nonce_ceiling
     OR first_observation + n + observation_step > ticket.observation_ceiling THEN
    ticket.nonce_ceiling := greatest(ticket.nonce_ceiling, first_nonce + n + 2 * nonce_step);
    ticket.observation_ceiling := greatest(ticket.observation_ceiling, first_observation + n + 2 * observation_step);
  ELSE
    PERFORM set_config('synchronous_commit', 'off', true);
  END IF;
  went_back := greatest(ticket.asked_at - now_at, interval '0');
  ticket.next_slot_at := ticket.next_slot_at - went_back;
  ticket.paused_until := ticket.paused_until - went_back;
  ahead := extract(epoch FROM ticket.next_slot_at - now_at);
  IF slot < ticket.slot_seconds THEN
    ahead := least(ahead, ahead / ticket.slot_seconds * slot);
  END IF;
  ahead := greatest(ahead, -0.05, extract(epoch FROM ticket.paused_until - now_at));
  UPDATE ledger.request_tickets
     SET last_nonce = first_nonce + n - 1, nonce_ceiling = ticket.nonce_ceiling,
         observation_ceiling = ticket.observation_ceiling,
         next_slot_at = CASE WHEN max_rps IS NULL THEN ticket.next_slot_at
                             ELSE now_at + make_interval(secs => ahead + n * slot) END,
         slot_seconds = CASE WHEN max_rps IS NULL THEN ticket.slot_seconds ELSE slot END,
         paused_until = ticket.paused_until, asked_at = now_at
   WHERE id = 1;
  RETURN QUERY
    SELECT nextval('ledger.observations'),
           first_nonce + i,
           (ahead + i * slot) * 1000,
           (extract(epoch FROM now_at) * 1000)::double precision
      FROM generate_series(0, n - 1) AS i;
END $$;
--> statement-breakpoint
REVOKE EXECUTE ON FUNCTION ledger.take_tickets FROM PUBLIC;
DO $$
DECLARE
  grantee text;
BEGIN
  FOREACH grantee IN ARRAY string_to_array(current_setting('wallet_ledger.granted'), ',') LOOP
    EXECUTE format('GRANT EXECUTE ON FUNCTION ledger.take_tickets TO %s', grantee);
  END LOOP;
END $$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION ledger.pause_requests(pause_ms double precision) RETURNS void
LANGUAGE sql AS $$
  UPDATE ledger.request_tickets
     SET next_slot_at = next_slot_at - greatest(asked_at - c.now_at, interval '0'),
         paused_until = greatest(paused_until - greatest(asked_at - c.now_at, interval '0'),
                                 c.now_at + make_interval(secs => pause_ms / 1000)),
         asked_at = c.now_at
    FROM (SELECT clock_timestamp() AS now_at) AS c
   WHERE id = 1
$$;
--> statement-breakpoint
CREATE VIEW engine.home_problem AS
SELECT coalesce(m.since, now()) AS since,
       CASE WHEN h.away IS NULL THEN 'warning' ELSE 'critical' END AS severity,
       CASE WHEN h.away IS NULL
         THEN format('the database has moved (%s); %s available addresses were set aside, %s open requests for addresses closed', m.what, m.set_aside, m.closed_requests)
         ELSE format('the database has moved (%s): no address is handed out or generated', h.away) END AS what
  FROM (SELECT engine.home_state() AS away OFFSET 0) AS h
 CROSS JOIN (SELECT min(o.noticed_at) AS since, string_agg(DISTINCT o.what, '; ') AS what,
                    coalesce(sum(o.set_aside), 0) AS set_aside, coalesce(sum(o.closed_requests), 0) AS closed_requests
               FROM engine.moves o WHERE o.acknowledged_at IS NULL) AS m
 WHERE h.away IS NOT NULL OR m.since IS NOT NULL;
--> statement-breakpoint
CREATE OR REPLACE VIEW ledger.problems AS
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
  ('database_moved', 'critical', '`wallet-ledger recover` shows what was found; with ON_MOVE=heal a running daemon sets it right, otherwise run it with --handed-out FILE or --same'),
  ('database_moved', 'warning', '`wallet-ledger recover` shows what was found; run it with --handed-out FILE, or with --same if nothing was lost'),
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
  FROM (SELECT o.name, o.subject, o.since, o.what, NULL::text AS severity FROM found o
        UNION ALL
        SELECT 'database_moved', NULL, m.since, m.what, m.severity FROM engine.home_problem m) AS f
  JOIN kinds k ON k.name = f.name AND k.severity = coalesce(f.severity, k.severity)
 ORDER BY k.severity, f.since, f.what;
--> statement-breakpoint
COMMENT ON TABLE ledger.wallets IS 'Whose history the ledger keeps; the settings of another wallet are refused';
COMMENT ON COLUMN ledger.wallets.wallet IS 'Name of the wallet: main';
COMMENT ON COLUMN ledger.wallets.base_url IS 'Address of the wallet service, without a slash at the end (WALLET_BASE_URL)';
COMMENT ON COLUMN ledger.wallets.key_fingerprint IS 'First half of the SHA-256 of the public key, or of WALLET_API_KEY where the key is a shared secret; hex';
COMMENT ON COLUMN ledger.wallets.first_seen_at IS 'When the ledger was first filled from it';
--> statement-breakpoint
COMMENT ON TABLE engine.home IS 'One row: where the database lives. Restores, copies and promotions do not fit it any more';
COMMENT ON COLUMN engine.home.id IS 'Always 1';
COMMENT ON COLUMN engine.home.epoch IS 'Counts the places in which the database has lived';
COMMENT ON COLUMN engine.home.begun_at IS 'When the epoch began';
COMMENT ON COLUMN engine.home.own_xid IS 'Transaction that wrote this row: its xmin while nobody has written it again';
COMMENT ON COLUMN engine.home.own_oid IS 'oid of this table';
COMMENT ON COLUMN engine.home.addresses_oid IS 'oid of ledger.addresses';
COMMENT ON COLUMN engine.home.database_oid IS 'oid of the database';
COMMENT ON COLUMN engine.home.system_identifier IS 'The cluster''s identifier; null where the server hides it';
COMMENT ON COLUMN engine.home.timeline IS 'Timeline of the write-ahead log; null where the server hides it';
COMMENT ON COLUMN engine.home.disturbed_by IS 'What else says that the database went back; null while nothing does';
COMMENT ON TABLE engine.moves IS 'One row for each time that the database was found elsewhere than at home';
COMMENT ON COLUMN engine.moves.epoch IS 'The epoch of engine.home that ended with it';
COMMENT ON COLUMN engine.moves.what IS 'What was found';
COMMENT ON COLUMN engine.moves.noticed_at IS 'When a process noticed it';
COMMENT ON COLUMN engine.moves.healed_at IS 'When a new epoch began; null while nothing is handed out';
COMMENT ON COLUMN engine.moves.set_aside IS 'Available addresses that became foreign';
COMMENT ON COLUMN engine.moves.closed_requests IS 'Open requests for addresses that were closed';
COMMENT ON COLUMN engine.moves.acknowledged_at IS 'When `wallet-ledger recover` was run with --handed-out or --same';
COMMENT ON TABLE engine.ticket_witness IS 'Unlogged: its row says that the numbers of tickets go on without a gap since the last start';
COMMENT ON COLUMN engine.ticket_witness.database_oid IS 'oid of the database in which it was written';
COMMENT ON COLUMN engine.ticket_witness.own_xid IS 'Transaction that wrote the row: its xmin while nobody has written it again';
COMMENT ON VIEW engine.home_problem IS 'The problem database_moved of ledger.problems, while it stands';
COMMENT ON FUNCTION engine.home_facts IS 'What tells the place where the database lives from others; null: hidden by the server';
COMMENT ON FUNCTION engine.home_state IS 'Null while the database is at home; otherwise what is different';
COMMENT ON FUNCTION engine.require_home IS 'Fails with SQLSTATE WL001 while the database is not at home';
COMMENT ON FUNCTION engine.current_epoch IS 'The epoch of engine.home';
COMMENT ON FUNCTION engine.disturb_home IS 'Declares that the database went back, for what no fact shows: a snapshot of the disk that was put back';
COMMENT ON FUNCTION engine.notice_emptying IS 'Trigger: whoever deletes addresses is about to load others';
COMMENT ON FUNCTION engine.notice_foreign IS 'POOL_EXCLUSIVE: an address that nobody here asked for says that the database went back';
--> statement-breakpoint
COMMENT ON COLUMN ledger.addresses.set_aside_epoch IS 'Set when the address became foreign because the database had moved (`wallet-ledger recover`); null otherwise';
COMMENT ON COLUMN ledger.address_requests.epoch IS 'Counts the moves of the database before the request: an answer from before a move brings nothing that is handed out';
COMMENT ON FUNCTION ledger.take_tickets IS 'Permission for n requests to the service: observation number, nonce, milliseconds to wait (negative: the slot has passed), and the database''s time in Unix milliseconds; in one order over all processes';
COMMENT ON COLUMN ledger.request_tickets.next_slot_at IS 'The moment from which the next request may go by the budget';
COMMENT ON COLUMN ledger.request_tickets.slot_seconds IS 'Distance of the slots that were given out last';
COMMENT ON COLUMN ledger.request_tickets.paused_until IS 'No request goes before this moment: the service asked for a pause';
COMMENT ON COLUMN ledger.request_tickets.asked_at IS 'When tickets or a pause were last asked for: shows a clock that went back';
COMMENT ON COLUMN ledger.request_tickets.nonce_ceiling IS 'No nonce above it was given out before it was raised durably';
COMMENT ON COLUMN ledger.request_tickets.observation_ceiling IS 'No observation number above it was given out before it was raised durably';
