import type pg from 'pg';

/** Chain of the pool from which addresses are taken. */
export const poolSlip44 = 60;

const coins = 40;
const openRows = 2_000;
const availableAddresses = 10_000;

/**
 * Adds the data of three years next to `rows` transactions: open ones, state changes of the final ones, a balance
 * change per five transactions, a pool with an address per five, most of them handed out, a month of runs, and
 * reconciliations.
 */
export async function fillLife(pool: pg.Pool, rows: number): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query(`set statement_timeout = 0; set synchronous_commit = off`);
    for (const statement of statements(rows)) await client.query(statement);
    await client.query('vacuum (analyze)');
    await client.query('checkpoint');
  } finally {
    client.release(true);
  }
}

function statements(rows: number): string[] {
  const poolAddresses = rows / 5;
  const takenAddresses = poolAddresses - availableAddresses;
  const runs = rows / 2;
  return [
    `update ledger.transactions
        set state = 'confirming', is_final = false, is_success = false
      where order_no in (select order_no from ledger.transactions
                          where stream = 'deposit' order by occurred_at desc limit ${openRows})`,
    `insert into engine.detail_checks (order_no, is_final, turn, due_at)
     select order_no, false, 1, now() + interval '10 minutes' from ledger.transactions where not is_final`,
    `insert into ledger.transaction_changes (order_no, observed_at, field, old_value, new_value)
     select t.order_no, t.first_seen_at + step.number * interval '5 minutes', 'state', step.old_state,
            coalesce(step.new_state, t.state)
       from ledger.transactions t
       join (values (1, 'deposit', 'confirming', null), (1, 'withdraw', 'submitted', 'broadcasting'),
                    (2, 'withdraw', 'broadcasting', null)) as step (number, stream, old_state, new_state)
         on step.stream = t.stream
      where t.is_final
      order by t.occurred_at`,
    `insert into ledger.balances (slip44, symbol, contract_address, chain_name, balance, frozen, decimals,
                                  observed_at, changed_at, observation)
     select ${poolSlip44}, 'COIN' || coin, '', 'Chain', coin * 1000.25, 0, 18, now(), now(), 1
       from generate_series(1, ${coins}) as coin`,
    `insert into ledger.balance_changes (slip44, symbol, contract_address, balance, frozen, observed_at)
     select ${poolSlip44}, 'COIN' || n % ${coins} + 1, '', n * 0.25, n % 7,
            now() - interval '3 years' * (1 - n / ${rows / 5}.0)
       from generate_series(1, ${rows / 5}) as n`,
    `insert into ledger.pools (slip44, threshold, target) values (${poolSlip44}, 100, 1000)`,
    `insert into ledger.addresses (slip44, address, status, assigned_to, assigned_at, generated_by, first_seen_at)
     select ${poolSlip44}, '0x' || md5(n::text) || '00000000', case when is_taken then 'assigned' else 'available' end,
            case when is_taken then 'earlier-' || n end,
            case when is_taken then now() - interval '3 years' * (1 - n / ${takenAddresses}.0) end,
            1, now() - interval '3 years' * (1 - n / ${poolAddresses}.0)
       from generate_series(1, ${poolAddresses}) as n
      cross join lateral (select n <= ${takenAddresses}) as half (is_taken)`,
    `insert into ledger.sync_runs (job, started_at, finished_at, outcome, requests, rows_seen, rows_inserted,
                                   rows_updated)
     select (array['transactions', 'details', 'balances', 'coins', 'addresses'])[n % 5 + 1],
            now() - interval '30 days' * (1 - n / ${runs}.0), now() - interval '30 days' * (1 - n / ${runs}.0),
            'done', 2, 200, 0, 0
       from generate_series(1, ${runs}) as n`,
    `insert into ledger.reconciliation_runs (symbol, observed_at, expected, reported, difference, is_explained)
     select 'COIN' || n % ${coins} + 1, now() - interval '3 years' * (1 - n / 40000.0), n, n, 0, true
       from generate_series(1, 40000) as n`,
  ];
}
