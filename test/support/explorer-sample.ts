const odd = '<b>&"\'\u202e';

/** Statements that fill a ledger so that each page has content, much of it hostile. */
export const explorerSample = `
    insert into ledger.balances (slip44, symbol, contract_address, name, chain_name, balance, frozen, observed_at, changed_at, observation)
    values (0, 'BTC', '', 'Bitcoin', 'Bitcoin', 1234567.50, 0.000000000012, now(), now(), 1),
           (60, '=ODD', '', 'Odd', '<i>', 1, 0, now(), now(), 1);
    insert into ledger.balance_changes (slip44, symbol, contract_address, balance, frozen, observed_at) values
      (0, 'BTC', '', 1, 0, now() - interval '40 days'), (0, 'BTC', '', 1234567.50, 0, now() - interval '1 day');
    insert into ledger.reconciliation_runs (symbol, observed_at, expected, reported, difference, is_explained, explanation)
    values ('BTC', now(), 1234567, 1234567.50, 0.50, false, 'nothing is <open>');
    insert into ledger.final_states values ('success', true);
    insert into ledger.addresses (slip44, address, status, assigned_to, assigned_no, assigned_at, first_seen_at)
    values (0, 'bc1-one', 'assigned', 'customer <7>', 1, now(), now()),
           (0, 'bc1-two', 'assigned', 'customer of two', 1, now(), now()),
           (60, '0xtwo', 'assigned', 'customer of two', 1, now(), now());
    insert into ledger.pools (slip44, threshold, target) values (60, 2, 10);
    insert into ledger.addresses (slip44, address, status, first_seen_at)
    select 60, '0xfree' || n, 'available', now() - interval '3 days' from generate_series(1, 7) as n;
    insert into ledger.address_requests (slip44, num, state, requested_at, finished_at, received, error)
    values (60, 8, 'done', now() - interval '3 days', now() - interval '3 days', 8, null),
           (60, 8, 'failed', now() - interval '2 days', now() - interval '2 days', 0, 'too <many>');
    insert into ledger.coverage (stream, day, transactions, verified_at)
    values ('deposit', '2025-02-28', 12, '2025-03-01'), ('deposit', '2025-02-27', 3, null)
    on conflict (wallet, stream, day) do update set transactions = excluded.transactions, verified_at = excluded.verified_at;
    insert into ledger.stream_proofs (name, observed_at, is_complete, service_total, ledger_count, reason)
    select 'deposit', now(), n % 2 = 0, 12, n, case when n % 2 > 0 then 'rows <missing>' end from generate_series(1, 60) as n;
    insert into ledger.transactions (order_no, stream, type, request_id, symbol, slip44, amount, state, is_final, is_success, to_address, from_address, tx_hash, occurred_at)
    values ('order 1/a', 'deposit', 'deposit', null, 'BTC', 0, 0.123456789, 'success', true, true, 'bc1-one', '0xAbCdEf0123456789abcdef0123456789abcDEF01', 'hash-1', now() - interval '1 hour'),
           ('order-2', 'withdraw', 'withdraw', 'request-2', '=ODD', 60, -5, '=cmd()', false, false, '${odd.replaceAll("'", "''")}', null, 'hash-2', now() - interval '1 hour'),
           ('order-3', 'withdraw', 'withdraw', 'request-2', 'BTC', 0, 12345678901234567890, 'success', true, true, 'x', null, null, null);
    insert into ledger.transaction_changes (order_no, observed_at, field, old_value, new_value)
    values ('order 1/a', now(), 'state', 'pending', 'success');
    insert into ledger.rejects (source, order_no, field, reason, payload, fingerprint, first_seen_at, last_seen_at)
    values ('transaction-list', 'lost-1', 'amount', 'no <number>', '{"amount":"<script>"}', 'f', now(), now());
    insert into ledger.sync_runs (job, started_at, finished_at, outcome, requests, rows_seen, rows_inserted, rows_updated, error)
    select 'details', now(), now(), case when n = 1 then 'failed' else 'done' end, 1, 2, 3, 4, case when n = 1 then 'HTTP <500>' end
      from generate_series(1, 60) as n`;

/** Each page of the explorer, with the sample in the ledger. */
export const explorerPages = [
  '/transactions',
  '/transactions/order%201%2Fa',
  '/transactions/order-2',
  '/addresses/bc1-one',
  '/addresses/0xAbCdEf0123456789abcdef0123456789abcDEF01',
  '/transactions?sender=0xAbCdEf0123456789abcdef0123456789abcDEF01',
  '/coins',
  '/coins/BTC',
  '/coins/%3DODD?days=7',
  '/pools',
  '/pools?days=7',
  '/proof',
  '/proof?year=2025',
  '/rejects',
  '/rejects?show=all',
  '/runs',
  '/runs?job=details&outcome=failed',
  '/problems',
];
