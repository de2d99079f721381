import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type SandboxOptions, withDefaults } from '../../src/sandbox/sandbox-options.ts';
import { allAssets, decimalText, feeAssetOf } from '../../src/sandbox/world/wallet-assets.ts';
import { createWalletWorld, type WalletWorld } from '../../src/sandbox/world/wallet-world.ts';
import { forAllSync } from '../support/for-all.ts';

const start = Date.UTC(2025, 5, 1);

function createWorld(options: Partial<SandboxOptions> = {}) {
  const time = { now: start };
  const clock = () => time.now;
  return { time, world: createWalletWorld(withDefaults({ clock, transactions: 500, ...options })) };
}

/** Decimal text as units of 10^-18. */
function exact(text: string): bigint {
  const [whole = '', rest = ''] = text.replace('-', '').split('.');
  const units = BigInt(whole + rest.padEnd(18, '0'));
  return text.startsWith('-') ? -units : units;
}

function sumsOfHistory(world: WalletWorld): Map<string, bigint> {
  const sums = new Map<string, bigint>();
  const change = (symbol: string, by: bigint) => sums.set(symbol, (sums.get(symbol) ?? 0n) + by);
  for (const row of world.transactions()) {
    if (row.state !== 'success') continue;
    change(row.symbol, row.type === 'deposit' ? exact(row.amount) : -exact(row.amount));
    change(row.feeSymbol, -exact(row.fee));
  }
  return sums;
}

function expectBalancesToAddUp(world: WalletWorld) {
  const reported = new Map<string, bigint>();
  for (const { symbol, balance } of world.balances()) {
    expect(exact(balance)).toBeGreaterThanOrEqual(0n);
    reported.set(symbol, (reported.get(symbol) ?? 0n) + exact(balance));
  }
  const sums = sumsOfHistory(world);
  for (const [symbol, balance] of reported) expect(sums.get(symbol) ?? 0n).toBe(balance);
}

describe('a wallet world', () => {
  test('is the same for the same seed and clock, and differs for another seed', () => {
    const a = createWorld({ seed: 7 }).world;
    const b = createWorld({ seed: 7 }).world;
    expect(a.transactions()).toEqual(b.transactions());
    expect(a.balances()).toEqual(b.balances());
    expect(a.addresses(60)).toEqual(b.addresses(60));
    expect(createWorld({ seed: 8 }).world.transactions()).not.toEqual(a.transactions());
  });

  test('gives every row and address a key of its own', () => {
    const { world } = createWorld({ transactions: 5_000, addressesPerChain: 1_000 });
    const rows = world.transactions();
    expect(new Set(rows.map((row) => row.orderNo)).size).toBe(5_000);
    expect(new Set(rows.filter((row) => row.txHash).map((row) => row.txHash)).size).toBe(
      rows.filter((row) => row.txHash).length,
    );
    for (const slip44 of [0, 2, 60, 195]) expect(new Set(world.addresses(slip44)).size).toBe(1_000);
  });

  test('spreads the history over two years with few equal times, and only the newest rows are in progress', () => {
    const rows = createWorld({ transactions: 5_000 }).world.transactions();
    const times = rows.map((row) => row.time);
    expect(times[0]).toBeLessThan(start - 700 * 86_400_000);
    expect(times.at(-1)).toBeLessThanOrEqual(start);
    const distinct = new Set(times).size;
    expect(distinct).toBeLessThan(5_000);
    expect(distinct).toBeGreaterThan(4_900);
    const old = rows.filter((row) => row.time < start - 90_000);
    expect(old.every((row) => /^(success|failed|rejected)$/.test(row.state))).toBe(true);
    expect(rows.length - old.length).toBe(24);
  });

  test('has balances that equal the sum of the history to the last digit, at any time', () => {
    const drawn = forAllSync(
      fc.integer(),
      fc.integer({ min: 0, max: 600 }),
      fc.array(fc.integer({ min: 0, max: 60_000 }), { maxLength: 5 }),
    );
    drawn(25, (seed, transactions, steps) => {
      const { world, time } = createWorld({ seed, transactions, arrivalsPerSecond: 2 });
      expectBalancesToAddUp(world);
      for (const step of steps) {
        time.now += step;
        expectBalancesToAddUp(world);
      }
    });
  });

  test('keeps the balances correct after states are set and rows are removed', () => {
    const { world } = createWorld();
    const [first, second, third] = world.transactions('deposit');
    world.balances();
    world.setState(first!.orderNo, 'failed');
    world.removeTransaction(second!.orderNo);
    world.setState(third!.orderNo, 'confirming');
    expectBalancesToAddUpPerSymbol(world);
    expect(world.transactions().map((row) => row.orderNo)).not.toContain(second!.orderNo);
    expect(world.detailText({ orderNo: second!.orderNo })).toBeNull();
  });

  test('freezes the amounts of withdrawals in progress', () => {
    const { world, time } = createWorld({ transactions: 400, settleMs: 0 });
    expect(world.balances().every((balance) => balance.frozen === '0')).toBe(true);
    const [orderNo] = world.addTransactions(1, { type: 'withdraw', state: 'pending' });
    const row = world.transactions('withdraw').find((r) => r.orderNo === orderNo)!;
    const frozen = world.balances().filter((balance) => balance.frozen !== '0');
    expect(frozen.map((balance) => [balance.symbol, balance.frozen])).toEqual([
      [row.symbol, row.amount],
    ]);
    time.now += 1;
    world.setState(orderNo!, 'success');
    expect(world.balances().every((balance) => balance.frozen === '0')).toBe(true);
  });

  test('confirms deposits as the clock moves', () => {
    const { world, time } = createWorld({ transactions: 0 });
    const [orderNo] = world.addTransactions(1, { type: 'deposit' });
    const seen = new Map<string, number[]>();
    for (let i = 0; i <= 100; i++, time.now += 1_000) {
      const { state, confirmNum } = JSON.parse(world.detailText({ orderNo: orderNo! })!);
      seen.set(state, [...(seen.get(state) ?? []), Number(confirmNum)]);
    }
    expect([...seen.keys()]).toEqual(['pending', 'confirming', 'success']);
    const confirmations = [...seen.values()].flat();
    expect(confirmations).toEqual([...confirmations].sort((a, b) => a - b));
  });

  test('takes withdrawals through all states, with a hash and a fee only in those that have them', () => {
    const { world, time } = createWorld({ transactions: 400 });
    const orderNos = new Set(world.addTransactions(200, { type: 'withdraw' }));
    const paths = new Map<string, string[]>();
    for (let i = 0; i <= 100; i++, time.now += 1_000) {
      for (const row of world.transactions('withdraw').filter((r) => orderNos.has(r.orderNo))) {
        const path = paths.get(row.orderNo) ?? [];
        if (path.at(-1) !== row.state) path.push(row.state);
        paths.set(row.orderNo, path);
        const isOnChain = ['broadcasting', 'success', 'failed'].includes(row.state);
        expect(row.txHash !== '').toBe(isOnChain);
        if (row.state === 'failed' || row.state === 'rejected') expect(row.fee).toBe('0');
        else expect(exact(row.fee)).toBeGreaterThan(0n);
      }
    }
    expect(new Set([...paths.values()].map((path) => path.join(' ')))).toEqual(
      new Set([
        'submitted pending broadcasting success',
        'submitted pending broadcasting failed',
        'submitted pending rejected',
      ]),
    );
  });

  test('shows requestId only for withdrawals, and finds them by it', () => {
    const { world } = createWorld();
    expect(world.transactions('deposit').every((row) => row.requestId === '')).toBe(true);
    const [row] = world.transactions('withdraw');
    expect(JSON.parse(world.detailText({ requestId: row!.requestId })!)).toEqual(row);
    expect(world.detailText({ requestId: '' })).toBeNull();
  });

  test('pays the fees of a token withdrawal in the coin of its chain', () => {
    const fees = createWorld()
      .world.transactions('withdraw')
      .map((row) => `${row.symbol} ${row.feeSymbol}`);
    expect(new Set(fees)).toContain('USDC ETH');
    const ether = allAssets.find((asset) => asset.symbol === 'ETH')!;
    expect(feeAssetOf(ether)).toBe(ether);
  });

  test('sends deposits to listed addresses of a chain', () => {
    const { world } = createWorld({ addressesPerChain: 5 });
    const addresses = new Set([0, 2, 60, 195].flatMap((slip44) => world.addresses(slip44)));
    for (const row of world.transactions('deposit')) expect(addresses).toContain(row.toAddress);
    const given = { type: 'deposit', toAddress: 'bc1qmine' } as const;
    const [orderNo] = world.addTransactions(1, given);
    expect(world.detailText({ orderNo: orderNo! })).toContain('"toAddress":"bc1qmine"');
  });

  test('adds new transactions as the clock moves, however often they are read', () => {
    const often = createWorld({ arrivalsPerSecond: 5 });
    const seldom = createWorld({ arrivalsPerSecond: 5 });
    for (let i = 0; i < 50; i++) {
      often.time.now += 333;
      often.world.balances();
    }
    seldom.time.now = often.time.now;
    expect(often.world.transactions()).toHaveLength(500 + 83);
    expect(seldom.world.transactions()).toEqual(often.world.transactions());
  });

  test('puts added rows at the end, and late rows at their earlier time', () => {
    const { world } = createWorld();
    const added = world.addTransactions(3, { type: 'deposit' });
    const late = world.addTransactions(2, { type: 'deposit', at: start - 86_400_000 });
    const orderNos = world.transactions('deposit').map((row) => row.orderNo);
    expect(orderNos.slice(-3)).toEqual(added);
    expect(orderNos.indexOf(late[0]!)).toBeLessThan(orderNos.length - 5);
    expect(orderNos).toContain(late[1]);
  });

  test('refuses a withdrawal that exceeds the balance', () => {
    const { world } = createWorld({ transactions: 0 });
    expect(() => world.addTransactions(1, { type: 'withdraw' })).toThrow(/add deposits first/);
  });

  test('reports each new row and each change of a state once, whatever caused it', () => {
    const { time, world } = createWorld({ arrivalsPerSecond: 1, settleMs: 60_000 });
    const states = () =>
      new Map(world.transactions().map(({ orderNo, state }) => [orderNo, state]));
    expect(world.takeChanges()).toEqual([]);
    let before = states();
    for (let seconds = 0; seconds < 120; seconds += 3) {
      time.now += 3_000;
      if (seconds === 60) world.setState([...before.keys()][7] ?? '', 'seized');
      const changed = [...states()].filter(([orderNo, state]) => before.get(orderNo) !== state);
      expect(world.takeChanges().sort()).toEqual(changed.map(([orderNo]) => orderNo).sort());
      expect(world.takeChanges()).toEqual([]);
      before = states();
    }
  });

  test('creates 300,000 rows quickly', () => {
    const began = performance.now();
    const { world } = createWorld({ transactions: 300_000 });
    const deposits = world.transactionListing('deposit').count;
    const withdrawals = world.transactionListing('withdraw').count;
    expect(deposits + withdrawals).toBe(300_000);
    expect(withdrawals).toBeGreaterThan(100_000);
    world.balances();
    expect(performance.now() - began).toBeLessThan(5_000);
  });
});

describe('decimal text', () => {
  test.each([
    [0n, 18, '0'],
    [1n, 18, '0.000000000000000001'],
    [-1_500_000n, 6, '-1.5'],
    [123_456_789_012_345_678_901n, 8, '1234567890123.45678901'],
  ])('of %s with %s decimals is %s', (units, decimals, text) => {
    expect(decimalText(units, decimals)).toBe(text);
  });
});

function expectBalancesToAddUpPerSymbol(world: WalletWorld) {
  const sums = sumsOfHistory(world);
  const symbols = new Set(world.balances().map((balance) => balance.symbol));
  for (const symbol of symbols) {
    const reported = world.balances().filter((balance) => balance.symbol === symbol);
    expect(reported.reduce((sum, row) => sum + exact(row.balance), 0n)).toBe(sums.get(symbol));
  }
}
