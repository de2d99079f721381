-- Slots lie 1 % wider than the budget asks for, so that requests that are held up on their way do not crowd into more
-- than the budget in any 10 s. Slots that a stalled process let pass are given out for 50 ms more: as much as the
-- wider spacing leaves room for.
CREATE OR REPLACE FUNCTION ledger.take_tickets(n integer, max_rps double precision, nonce_unit text)
RETURNS TABLE (observation bigint, nonce bigint, wait_ms double precision)
LANGUAGE plpgsql AS $$
DECLARE
  ticket ledger.request_tickets%ROWTYPE;
  asked_at timestamptz;
  first_nonce bigint;
  first_slot timestamptz;
  spacing interval := coalesce(make_interval(secs => 1.01 / max_rps), interval '0');
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  SELECT * INTO STRICT ticket FROM ledger.request_tickets WHERE id = 1 FOR UPDATE;
  asked_at := clock_timestamp();
  first_nonce := greatest(
    ticket.last_nonce + 1,
    floor(extract(epoch FROM asked_at) * CASE nonce_unit WHEN 'us' THEN 1000000 ELSE 1000 END)::bigint
  );
  first_slot := greatest(ticket.next_slot_at, asked_at - interval '50 milliseconds');
  UPDATE ledger.request_tickets
     SET last_nonce = first_nonce + n - 1,
         next_slot_at = CASE WHEN max_rps IS NULL THEN ticket.next_slot_at ELSE first_slot + n * spacing END
   WHERE id = 1;
  RETURN QUERY
    SELECT nextval('ledger.observations'),
           first_nonce + i,
           greatest(0, extract(epoch FROM first_slot + i * spacing - asked_at) * 1000)::double precision
      FROM generate_series(0, n - 1) AS i;
END $$;
