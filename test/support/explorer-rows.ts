import type { TransactionFilter } from '../../src/ledger/reports/explorer/list-transactions.ts';

/** Lists all transactions except those that a given filter leaves out. */
export function filterBy(given: Partial<TransactionFilter> = {}): TransactionFilter {
  const none = { stream: null, state: null, coin: null, chain: null, address: null, before: null };
  return {
    ...none,
    sender: null,
    from: null,
    to: null,
    min: null,
    max: null,
    isOpen: false,
    ...given,
  };
}

/** Statement that fills a ledger with three years of history: `rows` transactions of 100 coins. */
export function manyRows(rows: number): string {
  return `
    insert into ledger.transactions (order_no, stream, symbol, amount, type, state, is_final, is_success, to_address,
                                     from_address, tx_hash, request_id, occurred_at, first_seen_at)
    select 'order-' || n, t.type, 'COIN' || n % 100, n, t.type, case when t.is_final then 'success' else 'pending' end,
           t.is_final, t.is_final, '0x' || md5((n % 5000)::text), '0x' || md5(n::text), '0x' || md5(n::text) || md5(n::text),
           'request-' || n, t.at, t.at
      from generate_series(1, ${rows}) as n
     cross join lateral (select case n % 2 when 0 then 'deposit' else 'withdraw' end, n <= ${rows - 60},
                                now() - interval '3 years' * (1 - n / ${rows}.0)) as t (type, is_final, at)
     order by n;
    insert into ledger.transaction_changes (order_no, observed_at, field, old_value, new_value)
    select order_no, occurred_at + interval '5 minutes', 'state', 'pending', state
      from ledger.transactions where is_final order by occurred_at;
    insert into ledger.balance_changes (slip44, symbol, contract_address, balance, frozen, observed_at)
    select 60, 'COIN' || n % 100, '', n, 0, now() - interval '3 years' * (1 - n / ${rows}.0)
      from generate_series(1, ${rows}) as n;
    insert into ledger.balances (slip44, symbol, contract_address, balance, frozen, observed_at, changed_at, observation)
    select 60, 'COIN' || n, '', n, 0, now(), now(), 1 from generate_series(0, 99) as n;
    insert into ledger.reconciliation_runs (symbol, observed_at, expected, reported, difference, is_explained)
    select 'COIN' || n % 100, now(), n, n, 0, true from generate_series(1, 10000) as n;
    insert into ledger.addresses (slip44, address, status, assigned_to, assigned_no, assigned_at, first_seen_at)
    select c, '0x' || md5(n::text), 'assigned', 'customer ' || n, 1, now(), now()
      from generate_series(1, 20000) as n cross join (values (60), (714)) as chains (c);
    update ledger.addresses set assigned_at = now() - interval '3 years' * random();
    insert into ledger.address_requests (slip44, num, state, requested_at, finished_at, received)
    select 60, 1, 'done', t.at, t.at, 1
      from (select now() - interval '3 years' * (1 - n / 20000.0) as at from generate_series(1, 20000) as n) as t;
    insert into ledger.stream_proofs (name, observed_at, is_complete, service_total, ledger_count)
    select 'deposit', now(), n % 2 = 0, n, n from generate_series(1, 20000) as n;
    insert into ledger.rejects (source, order_no, reason, payload, fingerprint, first_seen_at, last_seen_at, resolved_at)
    select 'transaction-list', 'odd-' || n, 'no number', '{}', 'print-' || n, now(), now(), case when n % 10 > 0 then now() end
      from generate_series(1, 50000) as n;
    insert into ledger.sync_runs (job, started_at, finished_at, outcome, requests, rows_seen, rows_inserted, rows_updated)
    select 'job-' || n % 5, now(), now(), 'done', 1, 1, 1, 1 from generate_series(1, 100000) as n`;
}
