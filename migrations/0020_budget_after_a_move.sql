-- After a crash or a move the row has forgotten slots that were given out, and processes that are still alive use them.
-- Whoever asks first waits for as many as can be in their hands: 30 slots, at least a second, and 10 s at most, for the
-- budget is promised of windows of 10 s.
CREATE OR REPLACE FUNCTION ledger.take_tickets(n integer, max_rps double precision, nonce_unit text)
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
    hold := CASE WHEN slot > 0 THEN least(greatest(30 * slot, 1), 10) ELSE 0 END;
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
