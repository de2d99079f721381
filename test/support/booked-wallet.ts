import { expect } from 'vitest';
import { decimalText } from '../../src/sandbox/world/wallet-assets.ts';
import { runProgram } from './run-cli.ts';
import { type Service, withService } from './with-service.ts';

const hourMs = 3_600_000;
const places = 30;

/** References as customers choose them: some are not valid account names in any format. */
const references = [
  'C-42',
  'alice',
  'Alice',
  'bob  smith',
  'a:b',
  ' x;y ',
  '=1+1',
  '(q)',
  'Ünal',
  '"',
];

/**
 * A ledger after a backfill from a failing service: two years, with pending and failed transactions, customers, and
 * the balances that a daemon would have read at the end of each UTC day. They are sums of the service's own
 * transactions.
 */
export async function withBookedWallet(transactions: number): Promise<Service> {
  const service = await withService({ transactions, settleMs: 6 * hourMs, faultRate: 0.05 });
  const { code, stderr } = await runProgram(['backfill'], service.env);
  expect([code, stderr.slice(-500)]).toEqual([0, expect.anything()]);
  const values = dailyBalances(service).map(
    ({ symbol, day, balance }) => `('${symbol}', date '${day}', ${balance})`,
  );
  await service.query(`
    insert into ledger.balance_changes (slip44, symbol, contract_address, balance, frozen, observed_at)
    select b.slip44, v.symbol, b.contract_address, v.balance, 0,
           (v.day + time '23:59:59') at time zone 'UTC'
      from (values ${values.join(', ')}) as v (symbol, day, balance)
      join (select distinct on (symbol) * from ledger.balances order by symbol, slip44) as b using (symbol)`);
  const names = references.map((name, index) => `(${index}, '${name}')`);
  await service.query(`
    insert into ledger.addresses (slip44, address, status, assigned_to, assigned_at, first_seen_at)
    select 60, d.to_address, 'assigned', r.name, now(), now()
      from (select to_address, row_number() over (order by to_address) as n
              from (select distinct to_address from ledger.transactions where stream = 'deposit') as a) as d
      join (values ${names.join(', ')}) as r (n, name) on r.n = d.n`);
  return service;
}

/** Balance of each coin at the end of each UTC day with a movement, except today. */
function dailyBalances({ sandbox }: Service): { symbol: string; day: string; balance: string }[] {
  const today = new Date().toISOString().slice(0, 10);
  const sums = new Map<string, bigint>();
  const ends = new Map<string, { symbol: string; day: string; balance: string }>();
  for (const row of sandbox.world.transactions()) {
    const day = new Date(row.time).toISOString().slice(0, 10);
    if (row.state !== 'success' || day >= today) continue;
    const move = (symbol: string, by: bigint) => {
      const balance = (sums.get(symbol) ?? 0n) + by;
      sums.set(symbol, balance);
      ends.set(`${symbol} ${day}`, { symbol, day, balance: decimalText(balance, places) });
    };
    move(row.symbol, row.type === 'deposit' ? units(row.amount) : -units(row.amount));
    if (row.type === 'withdraw') move(row.feeSymbol, -units(row.fee));
  }
  return [...ends.values()];
}

function units(decimal: string): bigint {
  const [whole = '0', fraction = ''] = decimal.split('.');
  return BigInt(whole + fraction.padEnd(places, '0'));
}
