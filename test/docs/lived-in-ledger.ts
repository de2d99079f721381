import { randomUUID } from 'node:crypto';
import { taskNames } from '../../src/kernel/vocabulary.ts';
import { mirrorPools, takeAddress } from '../../src/ledger/addresses/pool-store.ts';
import { verifyLedger } from '../../src/sync/checks/verify-ledger.ts';
import { runParts } from '../../src/sync/sync-tasks.ts';
import { onePass, type Wallet, withWallet } from '../support/with-wallet.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** So many passes find a row that has vanished. */
const passes = 4;

/**
 * A ledger as it is after two years with a service: pending rows, changes, customers with addresses, a row that came
 * late, one that vanished, one that could not be read, two that came twice, and a final state that was not final.
 */
export async function liveInLedger(): Promise<Wallet> {
  const wallet = await withWallet(
    { transactions: 3_000, settleMs: 6 * hourMs },
    { chains: [60, 195], pools: { settleMs: 0, maxPerDay: 10_000 } },
  );
  const { ledger, context, sandbox } = wallet;
  await mirrorPools(ledger, [
    { slip44: 60, threshold: 5, target: 20 },
    { slip44: 195, threshold: 2, target: 4 },
  ]);
  await syncEverything(wallet);
  await age(wallet);
  await liveOn(wallet);
  for (let pass = 0; pass < passes; pass += 1) await syncEverything(wallet);
  const changed = sandbox.world
    .transactions('deposit')
    .find((row) => row.time >= lastMonth(15) && row.state === 'success');
  sandbox.world.setState(changed?.orderNo ?? '', 'reverted');
  await verifyLedger(context, { isRepair: true, signal: new AbortController().signal });
  await ledger.pool.query(`
    insert into ledger.reconciliation_runs
      (symbol, observed_at, expected, reported, difference, is_explained, explanation, unexplained_since)
    select symbol, now(), reported - 1, reported, 1, false, 'more than the open amounts can explain', now()
      from ledger.reconciliation where symbol = 'BTC'`);
  await ledger.pool.query(`
    insert into ledger.transactions (order_no, stream, symbol, amount, to_address, tx_hash, state, type, is_final,
                                     is_success, occurred_at, observation)
    select 'again-' || order_no, stream, symbol, amount, to_address, tx_hash, state, type, is_final, is_success,
           occurred_at + interval '1 second', observation
      from ledger.transactions where stream = 'deposit' and is_success and tx_hash is not null and is_listed
     order by occurred_at desc limit 2`);
  await ledger.pool.query('analyze');
  return wallet;
}

async function syncEverything({ context }: Wallet): Promise<void> {
  await runParts(context, taskNames, onePass());
}

/** As if it had all been seen when it happened. */
async function age({ ledger }: Wallet): Promise<void> {
  await ledger.pool.query(`
    update ledger.transactions set first_seen_at = occurred_at + interval '30 seconds';
    update ledger.balance_changes set observed_at = observed_at - interval '100 days';
    update ledger.balances set observed_at = observed_at - interval '100 days';
    update ledger.coin_changes set observed_at = observed_at - interval '100 days';
    update ledger.stream_proofs set observed_at = observed_at - interval '100 days';
    update ledger.sync_runs set started_at = started_at - interval '2 hours', finished_at = finished_at - interval '2 hours';
    insert into ledger.closed_months (month, closed_at, transactions, digest)
    values (date_trunc('month', now() at time zone 'UTC' - interval '1 month'), now(), 0, 'none')`);
}

async function liveOn({ ledger, sandbox }: Wallet): Promise<void> {
  const { world } = sandbox;
  const toAddress = (await takeAddress(ledger.db, 60, 'customer-1')) ?? '';
  await takeAddress(ledger.db, 60, 'customer-2');
  await ledger.pool.query(
    `update ledger.addresses set assigned_at = now() - interval '60 days' where assigned_to = 'customer-2'`,
  );
  world.addTransactions(3, { type: 'deposit', state: 'success', toAddress });
  world.addTransactions(1, { type: 'deposit', toAddress: `0x${'0'.repeat(40)}` });
  world.addTransactions(2, { type: 'withdraw', state: 'success' });
  world.addTransactions(1, { type: 'deposit', state: 'success', toAddress, at: lastMonth(10) });
  const recent = world.transactions('deposit').filter((row) => row.time > Date.now() - 30 * dayMs);
  const pending = recent.filter((row) => row.state === 'confirming');
  for (const row of pending.slice(0, 3)) world.setState(row.orderNo, 'success');
  const [final, vanished] = recent.filter((row) => row.state === 'success').slice(-8);
  world.setState(final?.orderNo ?? '', 'failed');
  world.removeTransaction(vanished?.orderNo ?? '');
  const unreadable = { orderNo: randomUUID(), symbol: 'ETH', type: 'deposit', state: 'success' };
  world.addRawListRow('deposit', { ...unreadable, amount: 'much', time: Date.now() });
}

/** Noon of a day of last month, UTC, Unix milliseconds. */
function lastMonth(day: number): number {
  const now = new Date();
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1, day, 12);
}
