-- Slots and shares, which only a budget, a pause or the first ticket after a crash needs, took most of a ticket's time.
CREATE FUNCTION engine.take_slots(of_wallet text, n integer, max_rps double precision, second bigint, lane integer)
RETURNS TABLE(observation bigint, nonce bigint, wait_ms double precision, asked_ms double precision)
LANGUAGE plpgsql
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
  hold double precision := 0;
  observation_step CONSTANT bigint := 1000000;
  nonce_step bigint := 5 * second;
  shared record;
BEGIN
  SELECT * INTO STRICT ticket FROM engine.lock_tickets(of_wallet);
  now_at := clock_timestamp();
  IF engine.renew_ticket_witness(of_wallet) THEN
    -- Nonces that were given out since the state to which the database went back are behind the clock, or no further
    -- ahead of it than this.
    ticket.last_nonce := greatest(ticket.last_nonce, ticket.nonce_ceiling,
                                  floor(extract(epoch FROM now_at) * second)::bigint + 2 * nonce_step);
    hold := CASE WHEN slot > 0 THEN least(greatest(50 * slot, 1), 10) ELSE 0 END * (ticket.nonce_ceiling > 0)::integer;
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
   WHERE wallet = of_wallet AND id = 1;
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
REVOKE EXECUTE ON FUNCTION engine.take_slots FROM PUBLIC;
--> statement-breakpoint
COMMENT ON FUNCTION engine.take_slots IS 'Tickets for slots of the budget, in a lane: see ledger.take_tickets';
--> statement-breakpoint
CREATE OR REPLACE FUNCTION ledger.take_tickets(n integer, max_rps double precision, nonce_unit text, lane integer DEFAULT 1)
RETURNS TABLE(observation bigint, nonce bigint, wait_ms double precision, asked_ms double precision)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  of_wallet CONSTANT text := engine.wallet();
  second CONSTANT bigint := CASE nonce_unit WHEN 'us' THEN 1000000 ELSE 1000 END;
  nonce_before bigint;
  did_relax text;
BEGIN
  -- Locks the row and moves the nonce at once, unless there is something to wait for, the clock went back, or the numbers
  -- are those before a crash or near their ceilings.
  IF max_rps IS NULL THEN
    UPDATE ledger.request_tickets AS t
       SET last_nonce = greatest(t.last_nonce + 1, floor(extract(epoch FROM clock_timestamp()) * second)::bigint) + n - 1,
           asked_at = clock_timestamp()
     WHERE t.wallet = of_wallet AND t.id = 1
       AND greatest(t.asked_at, t.next_slot_at, t.paused_until) <= clock_timestamp()
       AND greatest(t.last_nonce, floor(extract(epoch FROM clock_timestamp()) * second)::bigint) + n + 5 * second
             < t.nonce_ceiling
       AND (SELECT o.last_value FROM ledger.observations o) + n + 1000000 < t.observation_ceiling
       AND EXISTS (SELECT FROM engine.ticket_witness w
                    WHERE w.wallet = of_wallet AND w.xmin = w.own_xid
                      AND w.database_oid = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()))
    RETURNING t.last_nonce - n, extract(epoch FROM t.asked_at) * 1000 INTO nonce_before, asked_ms;
  END IF;
  IF nonce_before IS NULL THEN
    RETURN QUERY SELECT s.* FROM engine.take_slots(of_wallet, n, max_rps, second, lane) AS s;
    RETURN;
  END IF;
  did_relax := set_config('synchronous_commit', 'off', true);
  wait_ms := 0;
  -- The row stays locked, so observations rise with the nonces. A loop costs less than a query.
  FOR i IN 1 .. n LOOP
    observation := nextval('ledger.observations');
    nonce := nonce_before + i;
    RETURN NEXT;
  END LOOP;
END $$;
