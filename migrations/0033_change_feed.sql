CREATE TABLE "engine"."consumers" (
	"name" text PRIMARY KEY NOT NULL,
	"role" text NOT NULL,
	"position" bigint DEFAULT 0 NOT NULL,
	"first_seen_at" timestamp with time zone DEFAULT now() NOT NULL,
	"moved_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "ledger"."events" (
	"seq" bigint PRIMARY KEY NOT NULL,
	"recorded_at" timestamp with time zone NOT NULL,
	"kind" text NOT NULL,
	"key" text NOT NULL,
	"data" jsonb NOT NULL
);
--> statement-breakpoint
CREATE TABLE "engine"."outbox" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "engine"."outbox_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"xact" "xid8" DEFAULT pg_current_xact_id() NOT NULL,
	"recorded_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	"kind" text NOT NULL,
	"key" text NOT NULL,
	"data" jsonb NOT NULL
);

--> statement-breakpoint
-- A row as the feed shows it: without the program's own columns and the times of reading, which change without news.
-- Money is text, so that no reader makes a float of it.
CREATE FUNCTION engine.facts_of(stored jsonb, money text[]) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
SELECT stored - '{observation,observed_at,detail_synced_at,first_detail_at,first_detail_filled,seal,list_word,detail_word}'::text[]
       || (SELECT jsonb_object_agg(m.name, stored ->> m.name) FROM unnest(money) AS m (name))
$$;
--> statement-breakpoint
-- The customer whose address it is. One address is one customer's on every chain.
CREATE FUNCTION engine.reference_of(to_address text) RETURNS text
LANGUAGE sql STABLE AS $$
SELECT a.assigned_to FROM ledger.addresses a
 WHERE a.address_key = ledger.address_key(to_address) AND a.assigned_to IS NOT NULL
 ORDER BY a.assigned_at LIMIT 1
$$;
--> statement-breakpoint
CREATE FUNCTION engine.emit(kind text, key text, data jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO engine.outbox (kind, key, data) VALUES (emit.kind, emit.key, emit.data);
  PERFORM pg_notify('ledger_outbox', '');
END $$;
--> statement-breakpoint
-- Rows of a list's first walk are no news: stream.complete says that the tables hold them.
CREATE FUNCTION engine.emit_new_transactions() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO engine.outbox (kind, key, data)
  SELECT k.kind, f.order_no, f.data
    FROM (SELECT n.order_no, n.is_final,
                 engine.facts_of(to_jsonb(n), '{amount,fee}')
                   || jsonb_build_object('reference', CASE WHEN n.stream = 'deposit' THEN engine.reference_of(n.to_address) END,
                                         'changed', NULL) AS data
            FROM new_rows n WHERE NOT n.is_backfilled OFFSET 0) AS f
    JOIN (VALUES (1, 'transaction.seen'), (2, 'transaction.final')) AS k (no, kind) ON k.no = 1 OR f.is_final
   ORDER BY f.order_no, k.no;
  IF FOUND THEN PERFORM pg_notify('ledger_outbox', ''); END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
-- What the first detail adds to a row of the history is no news either, as long as it contradicts nothing. A row that
-- passes from one final state to another that judges it differently has left the first one. What is no news is left out
-- before anything is built of it, because a backfill changes every row by its detail. Each plan is kept, and one made for
-- a single row would compare every row of a batch with every other one.
CREATE FUNCTION engine.emit_changed_transactions() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_nestloop = off SET jit = off AS $$
BEGIN
  INSERT INTO engine.outbox (kind, key, data)
  SELECT k.kind, c.order_no,
         c.after || jsonb_build_object(
           'reference', CASE WHEN c.stream = 'deposit' THEN engine.reference_of(c.to_address) END,
           'changed', (SELECT jsonb_agg(v.key ORDER BY v.key) FROM jsonb_each(c.after - 'changed_at') AS v
                        WHERE v.value IS DISTINCT FROM c.before -> v.key))
    FROM (SELECT n.order_no, n.stream, n.to_address, n.is_listed,
                 o.is_listed <> n.is_listed AS moved,
                 o.is_final AND NOT (n.is_final AND n.is_success = o.is_success) AS reopened,
                 n.is_final AND NOT (o.is_final AND n.is_success = o.is_success) AS ended,
                 engine.facts_of(to_jsonb(o), '{amount,fee}') AS before, engine.facts_of(to_jsonb(n), '{amount,fee}') AS after
            FROM old_rows o JOIN new_rows n ON n.order_no = o.order_no
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
   ORDER BY c.order_no, k.no;
  IF FOUND THEN PERFORM pg_notify('ledger_outbox', ''); END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER transactions_new_emitted AFTER INSERT ON ledger.transactions
  REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION engine.emit_new_transactions();
--> statement-breakpoint
CREATE TRIGGER transactions_changed_emitted AFTER UPDATE ON ledger.transactions
  REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION engine.emit_changed_transactions();
--> statement-breakpoint
-- Per row, because few rows reach it: balances are written only where they differ.
CREATE FUNCTION engine.emit_balance() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  after jsonb := engine.facts_of(to_jsonb(NEW), '{balance,frozen}');
  before jsonb := CASE WHEN TG_OP = 'UPDATE' THEN engine.facts_of(to_jsonb(OLD), '{balance,frozen}') ELSE '{}' END;
  changed jsonb := (SELECT jsonb_agg(v.key ORDER BY v.key) FROM jsonb_each(after - 'changed_at') AS v
                     WHERE v.value IS DISTINCT FROM before -> v.key);
BEGIN
  IF changed IS NOT NULL THEN
    PERFORM engine.emit('balance.changed', concat_ws('/', NEW.slip44, NEW.symbol, nullif(NEW.contract_address, '')),
                        after || jsonb_build_object('changed', CASE WHEN TG_OP = 'UPDATE' THEN changed END));
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER balances_emitted AFTER INSERT OR UPDATE ON ledger.balances
  FOR EACH ROW EXECUTE FUNCTION engine.emit_balance();
--> statement-breakpoint
-- A use by a deposit of the history is no news.
CREATE FUNCTION engine.emit_address_use() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM ledger.transactions t WHERE t.order_no = NEW.first_deposit_order_no AND t.is_backfilled) THEN
    PERFORM engine.emit('address.used', concat_ws('/', NEW.slip44, NEW.address),
                        jsonb_build_object('slip44', NEW.slip44, 'address', NEW.address, 'status', NEW.status,
                                           'reference', NEW.assigned_to, 'first_deposit_order_no', NEW.first_deposit_order_no,
                                           'first_deposit_at', NEW.first_deposit_at));
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER addresses_new_use_emitted AFTER INSERT ON ledger.addresses
  FOR EACH ROW WHEN (NEW.status = 'used') EXECUTE FUNCTION engine.emit_address_use();
--> statement-breakpoint
CREATE TRIGGER addresses_use_emitted AFTER UPDATE OF status ON ledger.addresses
  FOR EACH ROW WHEN (NEW.status = 'used' AND OLD.status <> 'used') EXECUTE FUNCTION engine.emit_address_use();
--> statement-breakpoint
CREATE FUNCTION engine.emit_proof() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM engine.emit(CASE WHEN NEW.is_complete THEN 'stream.complete' ELSE 'stream.incomplete' END, NEW.name,
                      to_jsonb(NEW) - 'id');
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER stream_proofs_emitted AFTER INSERT ON ledger.stream_proofs
  FOR EACH ROW EXECUTE FUNCTION engine.emit_proof();
--> statement-breakpoint
CREATE FUNCTION engine.emit_move() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM engine.emit('wallet.moved', coalesce((SELECT min(w.wallet) FROM ledger.wallets w), 'main'),
                      jsonb_build_object('epoch', NEW.epoch, 'what', NEW.what, 'noticed_at', NEW.noticed_at));
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER moves_emitted AFTER INSERT ON engine.moves
  FOR EACH ROW EXECUTE FUNCTION engine.emit_move();
--> statement-breakpoint
-- Two transactions that write one row have written their events in the order of their commits, because the second one
-- waited for the lock of the row. So the order of the outbox is right for each key among the rows that are visible, and
-- a page ends at the first row whose transaction is not older than all running ones. A transaction number of the future
-- was copied from another server with the row.
CREATE FUNCTION engine.sequence_events(most integer, OUT numbered integer, OUT is_waiting boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
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
    RETURNING o.id, o.kind, o.key, o.data),
  stored AS (
    INSERT INTO ledger.events (seq, recorded_at, kind, key, data)
    SELECT head + row_number() OVER (ORDER BY t.id), statement_timestamp(), t.kind, t.key, t.data FROM taken t ORDER BY t.id
    RETURNING seq)
  SELECT (SELECT count(*) FROM stored), (SELECT coalesce(bool_or(p.waits), false) FROM page p) INTO numbered, is_waiting;
  IF numbered > 0 THEN PERFORM pg_notify('ledger_events', (head + numbered)::text); END IF;
END $$;
--> statement-breakpoint
CREATE FUNCTION ledger.events_head() RETURNS bigint
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
SELECT coalesce(max(e.seq), 0) FROM ledger.events e
$$;
--> statement-breakpoint
-- A consumer numbers events itself while no daemon does. It keeps others from doing so until its transaction ends, so a
-- daemon that lives is given five seconds.
CREATE FUNCTION engine.sequence_if_alone() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF EXISTS (SELECT FROM engine.outbox)
     AND (EXISTS (SELECT FROM engine.outbox o WHERE o.recorded_at < clock_timestamp() - interval '5 seconds')
          OR NOT EXISTS (SELECT FROM pg_locks l JOIN pg_database d ON d.oid = l.database
                          WHERE d.datname = current_database() AND l.locktype = 'advisory' AND l.granted
                            AND l.classid = 0 AND l.objid = 7246006)) THEN
    PERFORM engine.sequence_events(10000);
  END IF;
END $$;
--> statement-breakpoint
-- Locks the consumer until the transaction ends: of two workers of one consumer the second waits, and goes on behind
-- the first.
CREATE FUNCTION engine.hold_consumer(consumer text) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  held engine.consumers;
BEGIN
  IF coalesce(consumer, '') !~ '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}$' THEN
    RAISE EXCEPTION 'a consumer''s name has 1 to 100 letters, digits and _ . : -, and begins with a letter or digit'
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  PERFORM engine.bound_idle_time();
  SELECT * INTO held FROM engine.consumers c WHERE c.name = consumer FOR UPDATE;
  IF NOT FOUND THEN
    IF (SELECT count(*) FROM engine.consumers c WHERE c.role = session_user) >= 100 THEN
      RAISE EXCEPTION 'role % has 100 consumers already: delete those that are no longer used from engine.consumers', session_user
        USING ERRCODE = 'program_limit_exceeded';
    END IF;
    INSERT INTO engine.consumers (name, role) VALUES (consumer, session_user) ON CONFLICT (name) DO NOTHING;
    SELECT * INTO STRICT held FROM engine.consumers c WHERE c.name = consumer FOR UPDATE;
  END IF;
  IF NOT (held.role = session_user OR has_table_privilege(session_user, 'engine.consumers', 'UPDATE')
          OR EXISTS (SELECT FROM pg_roles r WHERE r.rolname = held.role AND pg_has_role(session_user, r.oid, 'member'))) THEN
    RAISE EXCEPTION 'the consumer % belongs to another role: use a name of your own', consumer USING ERRCODE = 'insufficient_privilege';
  END IF;
  RETURN held.position;
END $$;
--> statement-breakpoint
CREATE FUNCTION ledger.next_events(consumer text, max integer DEFAULT 100) RETURNS SETOF ledger.events
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  done bigint := engine.hold_consumer(consumer);
BEGIN
  PERFORM engine.sequence_if_alone();
  PERFORM engine.require_position(done);
  RETURN QUERY SELECT e.* FROM ledger.events e WHERE e.seq > done ORDER BY e.seq
                LIMIT greatest(1, least(next_events.max, 10000));
END $$;
--> statement-breakpoint
CREATE FUNCTION engine.require_position(done bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  head bigint := ledger.events_head();
  oldest bigint := (SELECT min(e.seq) FROM ledger.events e);
BEGIN
  IF done > head THEN
    RAISE EXCEPTION 'event % was acknowledged, but the feed ends at %: the database went back to an earlier state (a restore or a failover)', done, head
      USING ERRCODE = 'WL002', HINT = 'compare your books with the tables of ledger, then go on behind ledger.events_head()';
  ELSIF done < oldest - 1 THEN
    RAISE EXCEPTION 'the events % to % have been deleted: they were older than the feed keeps', done + 1, oldest - 1
      USING ERRCODE = 'WL003', HINT = 'begin with the tables of ledger and ledger.events_head() of one repeatable-read transaction, and acknowledge that number';
  END IF;
END $$;
--> statement-breakpoint
CREATE FUNCTION ledger.ack_events(consumer text, seq bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  done bigint := engine.hold_consumer(consumer);
  head bigint := ledger.events_head();
BEGIN
  IF ack_events.seq IS NULL OR ack_events.seq > head THEN
    RAISE EXCEPTION 'event % cannot be acknowledged: the feed ends at %', coalesce(ack_events.seq::text, 'null'), head
      USING ERRCODE = 'WL002', HINT = 'acknowledge the seq of an event that next_events returned, or ledger.events_head(); if the number was right before, the database went back to an earlier state';
  END IF;
  -- Never back: an acknowledgement that comes late would deliver events a second time.
  IF ack_events.seq > done THEN
    UPDATE engine.consumers c SET position = ack_events.seq, moved_at = now() WHERE c.name = consumer;
  END IF;
  RETURN greatest(done, ack_events.seq);
END $$;
--> statement-breakpoint
-- The oldest events, at most 10,000: after 7 days when every consumer has acknowledged them, after 30 days in any case.
-- The latest one stays, because its number is the feed's head.
CREATE FUNCTION engine.prune_events() RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  done bigint := (SELECT min(c.position) FROM engine.consumers c);
  deleted bigint;
BEGIN
  WITH page AS MATERIALIZED (
    SELECT e.seq, e.recorded_at < now() - CASE WHEN e.seq > done THEN interval '30 days' ELSE interval '7 days' END AS is_old
      FROM ledger.events e ORDER BY e.seq LIMIT 10000)
  DELETE FROM ledger.events e
   WHERE e.seq < ledger.events_head()
     AND e.seq IN (SELECT p.seq FROM page p WHERE NOT EXISTS (SELECT FROM page k WHERE NOT k.is_old AND k.seq <= p.seq));
  GET DIAGNOSTICS deleted = ROW_COUNT;
  RETURN deleted;
END $$;
--> statement-breakpoint
CREATE VIEW ledger.feed_problems AS
SELECT 'feed_blocked'::text AS name, 'critical'::text AS severity, w.since,
       'events of the change feed wait for a transaction that is open: '
         || coalesce('process ' || h.pid, 'the prepared transaction ' || x.gid, 'it has just ended')
         || coalesce(', role ' || coalesce(a.usename, x.owner)::text COLLATE "default", '')
         || coalesce(', application ' || nullif(a.application_name, ''), '')
         || coalesce(', database ' || coalesce(a.datname, x.database)::text COLLATE "default", '') AS what,
       CASE WHEN x.gid IS NULL THEN 'end that transaction' || coalesce(': `select pg_terminate_backend(' || h.pid || ')`', '')
            ELSE 'commit it or roll it back: see pg_prepared_xacts' END AS cure
  FROM (SELECT min(o.recorded_at) AS since
          FROM (SELECT o.recorded_at, o.xact FROM engine.outbox o ORDER BY o.id LIMIT 1000) AS o
         WHERE o.recorded_at < now() - interval '10 seconds' AND o.xact < pg_snapshot_xmax(pg_current_snapshot())
           AND o.xact >= pg_snapshot_xmin(pg_current_snapshot())) AS w
  LEFT JOIN LATERAL (SELECT l.pid, l.transactionid FROM pg_locks l
                      WHERE l.locktype = 'transactionid' AND l.mode = 'ExclusiveLock' AND l.granted
                      ORDER BY age(l.transactionid) DESC LIMIT 1) AS h ON true
  LEFT JOIN pg_stat_activity a ON a.pid = h.pid
  LEFT JOIN pg_prepared_xacts x ON h.pid IS NULL AND x.transaction = h.transactionid
 WHERE w.since IS NOT NULL
UNION ALL
SELECT 'feed_consumer_stalled', 'warning', e.recorded_at,
       'the consumer ' || c.name || ' has not acknowledged event ' || e.seq || ' of the change feed; it is deleted on '
         || to_char((e.recorded_at + interval '30 days') AT TIME ZONE 'UTC', 'YYYY-MM-DD'),
       'start the program that reads as this consumer; if it is no longer used: `delete from engine.consumers where name = '''
         || c.name || '''`'
  FROM engine.consumers c JOIN ledger.events e ON e.seq = c.position + 1
 WHERE e.recorded_at < now() - interval '1 day'
UNION ALL
SELECT 'feed_events_lost', 'critical', c.moved_at,
       'the events ' || (c.position + 1) || ' to ' || (f.oldest - 1) || ' were deleted before the consumer ' || c.name
         || ' acknowledged them',
       'compare the books of that program with the tables, then acknowledge: `select ledger.ack_events(''' || c.name
         || ''', ledger.events_head())`'
  FROM (SELECT min(e.seq) AS oldest FROM ledger.events e) AS f JOIN engine.consumers c ON c.position < f.oldest - 1;
--> statement-breakpoint
DO $problems$
BEGIN
  EXECUTE format('CREATE OR REPLACE VIEW ledger.problems AS
    SELECT p.name, p.severity, p.since, p.what, p.cure
      FROM (SELECT o.* FROM (%s) AS o UNION ALL SELECT f.* FROM ledger.feed_problems AS f) AS p
     ORDER BY p.severity, p.since, p.what', rtrim(pg_get_viewdef('ledger.problems'::regclass), ';'));
END $problems$;
--> statement-breakpoint
COMMENT ON TABLE ledger.events IS 'The change feed: what happened, each change once, numbered in the order in which it was committed. Rows of a list''s first walk make no events: stream.complete says that the tables hold them. Kept for 7 days, and up to 30 days for consumers that have not acknowledged them';
COMMENT ON COLUMN ledger.events.seq IS 'Number: 1, 2, 3 … without gaps';
COMMENT ON COLUMN ledger.events.recorded_at IS 'When the event got its number';
COMMENT ON COLUMN ledger.events.kind IS 'What happened, such as transaction.final';
COMMENT ON COLUMN ledger.events.key IS 'What it happened to: order number of a transaction; slip44/symbol/contract of a balance; slip44/address; name of a list, a wallet or a problem. Events of one key are in the order of the commits';
COMMENT ON COLUMN ledger.events.data IS 'The row as it was then, money as text; changed: names of the fields that changed, null for a new row; reference: customer to whom the address of a deposit was handed out';
COMMENT ON TABLE engine.outbox IS 'Events that have no number yet, written by the transaction that changed the row';
COMMENT ON COLUMN engine.outbox.id IS 'Running number, not in the order of the commits';
COMMENT ON COLUMN engine.outbox.xact IS 'Transaction that wrote it';
COMMENT ON COLUMN engine.outbox.recorded_at IS 'When it was written';
COMMENT ON COLUMN engine.outbox.kind IS 'As events.kind';
COMMENT ON COLUMN engine.outbox.key IS 'As events.key';
COMMENT ON COLUMN engine.outbox.data IS 'As events.data';
COMMENT ON TABLE engine.consumers IS 'Consumers that read the change feed with next_events';
COMMENT ON COLUMN engine.consumers.name IS 'Name that the consumer gave itself';
COMMENT ON COLUMN engine.consumers.role IS 'Role that first used the name; no other one may use it, except its members and the owner';
COMMENT ON COLUMN engine.consumers.position IS 'Last event that it has acknowledged';
COMMENT ON COLUMN engine.consumers.first_seen_at IS 'When the name was first used';
COMMENT ON COLUMN engine.consumers.moved_at IS 'When it last acknowledged an event';
COMMENT ON VIEW ledger.feed_problems IS 'Problems of the change feed, as ledger.problems shows them';
COMMENT ON FUNCTION engine.facts_of IS 'A row as the feed shows it';
COMMENT ON FUNCTION engine.reference_of IS 'Reference for which the address was handed out; null if it was not';
COMMENT ON FUNCTION engine.emit IS 'Writes an event that has no number yet, and wakes the daemons';
COMMENT ON FUNCTION engine.sequence_events IS 'Gives numbers to committed events, at most so many: how many got one, and whether others wait for a transaction that is open. Both null: another session does it, or the transaction is not read committed';
COMMENT ON FUNCTION engine.sequence_if_alone IS 'Gives numbers to committed events where no daemon does';
COMMENT ON FUNCTION engine.hold_consumer IS 'Locks a consumer, new ones included, and returns its position';
COMMENT ON FUNCTION engine.require_position IS 'Fails with WL002 for a position ahead of the feed, with WL003 for one whose next events have been deleted';
COMMENT ON FUNCTION engine.prune_events IS 'Deletes old events, and returns how many; again while there are 10,000';
COMMENT ON FUNCTION ledger.events_head IS 'Number of the latest event; 0 when there is none';
COMMENT ON FUNCTION ledger.next_events IS 'Returns the events behind the consumer''s position, oldest first. The consumer is locked until the transaction ends, so that two workers of it never get the same events. A name belongs to the role that first uses it. Fails with WL002 when the database went back behind the position, with WL003 when the next events have been deleted';
COMMENT ON FUNCTION ledger.ack_events IS 'Acknowledges all events up to this number, and returns the consumer''s position. In the transaction that processed the events, each is processed exactly once. Never moves back';
--> statement-breakpoint
SELECT engine.settle_rights();
--> statement-breakpoint
COMMENT ON COLUMN ledger.feed_problems.name IS 'As in problems';
COMMENT ON COLUMN ledger.feed_problems.severity IS 'As in problems';
COMMENT ON COLUMN ledger.feed_problems.since IS 'As in problems';
COMMENT ON COLUMN ledger.feed_problems.what IS 'As in problems';
COMMENT ON COLUMN ledger.feed_problems.cure IS 'As in problems';
