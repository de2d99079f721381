-- The server prepares a query inside an SQL function anew for each row, which took half of the time of an event.
DO $migration$
DECLARE
  facts text := $facts$(SELECT to_jsonb(f) FROM (
                   SELECT n.order_no, n.stream, n.request_id, n.symbol, n.tx_hash, n.from_address, n.to_address,
                          n.amount::text AS amount, n.type, n.state, n.confirm_num, n.fee::text AS fee, n.fee_symbol,
                          n.occurred_at, n.is_final, n.is_listed, n.first_seen_at, n.changed_at, n.extra, n.also_listed_in,
                          n.is_backfilled, n.is_success, n.slip44, n.contract_address) AS f)$facts$;
  reference text := $reference$(SELECT a.assigned_to FROM ledger.addresses a
                   WHERE a.wallet = n.wallet AND a.address_key = ledger.address_key(n.to_address) AND a.assigned_to IS NOT NULL
                   ORDER BY a.assigned_at LIMIT 1)$reference$;
  former text := pg_get_functiondef('engine.emit_new_transactions()'::regprocedure);
  present text := replace(replace(former, $from$engine.facts_of(to_jsonb(n), '{amount,fee}')$from$, facts),
                          'engine.reference_of(n.wallet, n.to_address)', reference);
BEGIN
  ASSERT former NOT LIKE '%to_jsonb(f)%' AND present LIKE '%to_jsonb(f)%' AND present LIKE '%a.assigned_to%';
  EXECUTE present;
  former := pg_get_functiondef('engine.emit_changed_transactions()'::regprocedure);
  present := replace(former, $from$engine.facts_of(to_jsonb(n), '{amount,fee}')$from$, facts);
  present := replace(present, $from$engine.facts_of(to_jsonb(o), '{amount,fee}')$from$, replace(facts, 'n.', 'o.'));
  present := replace(present, 'engine.reference_of(c.wallet, c.to_address)', replace(reference, 'n.', 'c.'));
  ASSERT present LIKE '%SELECT o.order_no%' AND present LIKE '%SELECT n.order_no%' AND present LIKE '%a.assigned_to%';
  EXECUTE present;
END $migration$;
