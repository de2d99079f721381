import { Client } from 'pg';
import type { Bench } from './bench.ts';
import { openVirtualWallet, type VirtualWallet } from './open-virtual-wallet.ts';
import type { VirtualHistory } from './virtual-history.ts';

/** A virtual wallet that has books: addresses of customers, balances and their history, fees. */
export type BookedWallet = VirtualWallet & { client: Client };

const dayMs = 86_400_000;
/** Number of latest rows and days, the same for histories of every length. */
export const recentRows = 10_000;
const recentDays = 40;
const addresses = 20_000;

/** Opens one with so many transactions over three years. */
export async function openBookedWallet(bench: Bench, rows: number): Promise<BookedWallet> {
  const older = rows - recentRows;
  const spanMs = 3 * 365 * dayMs;
  const stepMs = Math.floor((2 * (spanMs - recentDays * dayMs)) / Math.max(older, 1));
  const history: VirtualHistory = {
    counts: { deposit: older / 2, withdraw: older / 2 },
    startMs: Date.now() - spanMs,
    stepMs,
  };
  const wallet = await openVirtualWallet(bench, history);
  const client = new Client({ connectionString: wallet.connectionString });
  await client.connect();
  bench.onEnd(() => client.end().catch(() => undefined));
  for (const statement of lifeOf()) await client.query(statement);
  await client.query('vacuum (analyze)');
  await client.query('checkpoint');
  return { ...wallet, client };
}

/** The latest time, which is the same however long the history is; USDT is on two chains. */
function lifeOf(): string[] {
  return [
    `insert into ledger.addresses (slip44, address, status, assigned_to, assigned_at, first_seen_at)
     select case n % 2 when 0 then 60 else 195 end, '0x' || md5(n::text) || '00000000', 'assigned', 'customer-' || n,
            now() - interval '3 years', now() - interval '3 years'
       from generate_series(0, ${addresses - 1}) as n`,
    `insert into ledger.balances (slip44, symbol, contract_address, chain_name, balance, frozen, decimals, observed_at,
                                  changed_at, observation)
     select v.slip44, v.symbol, v.contract, 'Chain', 1000, 0, 18, now(), now(), 1
       from (values (0, 'BTC', ''), (60, 'ETH', ''), (195, 'TRX', ''), (60, 'USDT', '0xda'), (195, 'USDT', 'TR7'))
              as v (slip44, symbol, contract)`,
    `insert into ledger.balance_changes (slip44, symbol, contract_address, balance, frozen, observed_at)
     select b.slip44, b.symbol, b.contract_address, n, 0, now() - n * interval '1 day'
       from ledger.balances b cross join generate_series(1, ${recentDays - 1}) as n`,
    // As wide as the earlier rows, so that they do not fill gaps of old pages.
    `insert into ledger.transactions (order_no, stream, request_id, symbol, tx_hash, from_address, to_address, amount, type,
                                      state, occurred_at, confirm_num, fee, fee_symbol, is_final, is_success, is_backfilled,
                                      first_seen_at, changed_at, detail_synced_at)
     select 'R' || lpad(n::text, 12, '0'), s.stream, case s.stream when 'withdraw' then 'request-' || (1000000 + n) end,
            (array['BTC', 'ETH', 'TRX', 'USDT'])[n / 2 % 4 + 1], '0x' || d.digest || d.digest, '0x' || d.digest || '00000000',
            '0x' || md5((n % ${addresses})::text) || '00000000', 1 + n % 997 + (n % 10000) * 0.0001, s.stream, 'success', o.at,
            12, case s.stream when 'withdraw' then 0.0021 else 0 end, 'ETH', true, true, true, o.at, o.at, o.at
       from generate_series(1, ${recentRows}) as n
      cross join lateral (select case n % 2 when 0 then 'deposit' else 'withdraw' end) as s (stream)
      cross join lateral (select md5(n::text)) as d (digest)
      cross join lateral (select now() - interval '${recentDays} days' * (1 - n / ${recentRows + 1}.0)) as o (at)`,
  ];
}
