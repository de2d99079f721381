ALTER TABLE "ledger"."request_tickets" ADD COLUMN "lane_passed" integer[] DEFAULT '{0,0,0,0}' NOT NULL;--> statement-breakpoint
-- Returns true if the witness that the numbers continue was lost, in a crash or a move, and makes a new one.
CREATE FUNCTION engine.renew_ticket_witness() RETURNS boolean
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  PERFORM FROM engine.ticket_witness w
    JOIN pg_database d ON d.oid = w.database_oid AND d.datname = current_database()
   WHERE w.xmin = w.own_xid;
  IF FOUND THEN RETURN false; END IF;
  DELETE FROM engine.ticket_witness;
  INSERT INTO engine.ticket_witness
  SELECT pg_current_xact_id()::xid, d.oid FROM pg_database d WHERE d.datname = current_database();
  RETURN true;
END $$;
--> statement-breakpoint
-- Shares the slots among the lanes; pure. Times are in seconds from now: `ahead` is the next free slot, `slot` the
-- distance of slots. Lane 1 books as far ahead as there are slots before it. A lower lane books only a short way ahead,
-- the shorter the lower, and is told otherwise when to ask again. So while a higher lane has requests waiting, the next
-- free slot lies too far ahead for the lower ones, and a request of lane 1 waits for no more than that short way.
-- `passed` counts the slots that other lanes took since this lane had one: after seven the next one is this lane's,
-- however far ahead. That is its floor, an eighth of the budget.
CREATE FUNCTION engine.share_slots(lane integer, n integer, ahead double precision, slot double precision, passed integer[],
                                   OUT granted integer, OUT passed_after integer[], OUT back_in double precision)
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  horizon double precision := (ARRAY['infinity', 0.09, 0.06, 0.03]::double precision[])[lane];
  others CONSTANT integer := 7;
  own integer := passed[lane];
BEGIN
  granted := 0;
  WHILE granted < n AND (ahead + granted * slot <= horizon OR own >= others) LOOP
    granted := granted + 1;
    own := greatest(0, own - others);
  END LOOP;
  passed_after := ARRAY(SELECT CASE p.lane WHEN share_slots.lane THEN own ELSE least(p.slots + granted, 2 * others) END
                          FROM unnest(passed) WITH ORDINALITY AS p (slots, lane) ORDER BY p.lane);
  back_in := ahead + granted * slot - horizon;
  IF slot > 0 THEN
    back_in := least(back_in, (others - own) * slot);
  END IF;
  -- Not so seldom that a new budget would go unnoticed, and not so often that the asking would cost more than it brings.
  back_in := least(greatest(back_in, 0.02), 5);
END $$;
--> statement-breakpoint
REVOKE EXECUTE ON FUNCTION engine.share_slots, engine.renew_ticket_witness FROM PUBLIC;
--> statement-breakpoint
-- A function with another argument is another function: roles keep what they were granted.
SELECT set_config('wallet_ledger.granted', coalesce(string_agg(g.grantee::regrole::text, ','), ''), true)
  FROM pg_proc p, aclexplode(p.proacl) g
 WHERE p.oid = 'ledger.take_tickets'::regproc AND g.grantee NOT IN (0, p.proowner);
--> statement-breakpoint
DROP FUNCTION ledger.take_tickets(integer, double precision, text);
--> statement-breakpoint
-- Up to n tickets for a lane. A last row without numbers says that fewer were granted, and in how many milliseconds to
-- ask again. Callers that name no lane, as older programs, are in the first one, in which every request gets a ticket.
CREATE FUNCTION ledger.take_tickets(n integer, max_rps double precision, nonce_unit text, lane integer DEFAULT 1)
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
  hold double precision := 0;
  observation_step CONSTANT bigint := 1000000;
  nonce_step bigint := 5 * second;
  shared record;
BEGIN
  SELECT * INTO STRICT ticket FROM ledger.request_tickets WHERE id = 1 FOR UPDATE;
  now_at := clock_timestamp();
  IF engine.renew_ticket_witness() THEN
    -- Nonces that were given out since the state to which the database went back are behind the clock, or no further
    -- ahead of it than this.
    ticket.last_nonce := greatest(ticket.last_nonce, ticket.nonce_ceiling,
                                  floor(extract(epoch FROM now_at) * second)::bigint + 2 * nonce_step);
    PERFORM setval('ledger.observations', greatest(o.last_value, ticket.observation_ceiling)) FROM ledger.observations o;
    hold := CASE WHEN slot > 0 THEN least(greatest(50 * slot, 1), 10) ELSE 0 END;
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
  ahead := greatest(ahead, -0.05, hold, extract(epoch FROM ticket.paused_until - now_at));
  SELECT * INTO shared FROM engine.share_slots(lane, n, ahead, slot, ticket.lane_passed);
  UPDATE ledger.request_tickets
     SET last_nonce = first_nonce + shared.granted - 1, nonce_ceiling = ticket.nonce_ceiling,
         observation_ceiling = ticket.observation_ceiling,
         next_slot_at = CASE WHEN max_rps IS NULL THEN ticket.next_slot_at
                             ELSE now_at + make_interval(secs => ahead + shared.granted * slot) END,
         slot_seconds = CASE WHEN max_rps IS NULL THEN ticket.slot_seconds ELSE slot END,
         paused_until = ticket.paused_until, asked_at = now_at, lane_passed = shared.passed_after
   WHERE id = 1;
  RETURN QUERY
    SELECT nextval('ledger.observations'),
           first_nonce + i,
           (ahead + i * slot) * 1000,
           (extract(epoch FROM now_at) * 1000)::double precision
      FROM generate_series(0, shared.granted - 1) AS i;
  IF shared.granted < n THEN
    RETURN QUERY SELECT NULL::bigint, NULL::bigint, (shared.back_in + random() * 0.015) * 1000,
                        (extract(epoch FROM now_at) * 1000)::double precision;
  END IF;
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
COMMENT ON FUNCTION ledger.take_tickets IS 'Permission for up to n requests to the service in a lane (1 head of lists, 2 pools, 3 what is current, 4 backlog): observation number, nonce, milliseconds to wait (negative: the slot has passed), and the database''s time in Unix milliseconds; in one order over all processes. A row without numbers: the rest may ask again after that wait';
--> statement-breakpoint
COMMENT ON COLUMN ledger.request_tickets.lane_passed IS 'For each lane, the slots that others have taken since it had one: after seven the next is its own';
