import { inspect } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { isTransactionEvent, openLedger } from '../../src/library/open-ledger.ts';
import { startSandbox } from '../../src/library/sandbox.ts';
import { numberEvents } from '../support/number-events.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger, query, connectionString } = await withLedger();
const library = await openLedger(connectionString);
const sandbox = await startSandbox();
afterAll(async () => {
  await sandbox.close();
  await library.close();
});

const alice = { reference: 'alice' };
const soon = { timeoutMs: 50 };

/** An argument as a program without types may give it: of any type, as far as the compiler knows. */
type Wrong = never;

const tries: [named: string, values: unknown[], call: (value: Wrong) => unknown][] = [
  [
    'slip44',
    [1.5, 'abc', '60', Number.NaN, -1, 2 ** 31, Number.POSITIVE_INFINITY, null, undefined, {}, 60n],
    (slip44) => library.takeAddress(slip44, 'alice'),
  ],
  [
    'reference',
    ['', ' \t', null, undefined, 7, {}, ['alice'], 'a\0b', 'a\ud800'],
    (reference) => library.takeAddress(60, reference),
  ],
  ['options', [null, 'main', 5, []], (options) => library.takeAddress(60, 'alice', options)],
  [
    'wallet',
    ['', ' ', 'EU', '1st', 5, null, {}, 'a\0b'],
    (wallet) => library.takeAddress(60, 'alice', { wallet }),
  ],
  ['deposit', [null, undefined, 'alice', 5, []], (of) => library.waitForDeposit(of, soon)],
  ['address', [{}, { address: '' }, { address: 5 }], (of) => library.waitForDeposit(of, soon)],
  [
    'reference',
    [{ reference: ' ' }, { reference: null }],
    (of) => library.waitForDeposit(of, soon),
  ],
  ['by both', [{ reference: 'a', address: 'b' }], (of) => library.waitForDeposit(of, soon)],
  ['until', ['ended', '', null, 1], (until) => library.waitForDeposit(alice, { ...soon, until })],
  [
    'after',
    [-1, 1.5, '5', Number.NaN, null, 2n, 2 ** 60],
    (after) => library.waitForDeposit(alice, { ...soon, after }),
  ],
  [
    'timeoutMs',
    [-1, '5', Number.NaN, null, Number.POSITIVE_INFINITY, 2 ** 31],
    (timeoutMs) => library.waitForDeposit(alice, { timeoutMs }),
  ],
  ['signal', [null, {}, 5], (signal) => library.waitForDeposit(alice, { ...soon, signal })],
  ['wallet', ['', 5], (wallet) => library.waitForDeposit(alice, { ...soon, wallet })],
  ['options', [null, 5], (options) => library.waitForDeposit(alice, options)],
  ['must not have walet', [{ walet: 'b' }], (options) => library.takeAddress(60, 'alice', options)],
  ['must not have walet', [{ walet: 'b' }], (options) => library.waitForDeposit(alice, options)],
  ['must not have wallet', [{ ...alice, wallet: 'b' }], (of) => library.waitForDeposit(of, soon)],
  ['must not have walet', [{ walet: 'b' }], (options) => library.events('shop', options)],
  ['must not have walet', [{ walet: 'b' }], (options) => openLedger(connectionString, options)],
  ['consumer', ['', ' ', null, undefined, 5, 'a\0b'], (name) => library.events(name)],
  ['a consumer', ['a b', '-a', 'x'.repeat(101)], (name) => library.events(name).next()],
  ['options', [null, 5], (options) => library.events('shop', options)],
  [
    'eventsPerTransaction',
    [0, -1, 1.5, '5', Number.NaN, 10_001, null],
    (eventsPerTransaction) => library.events('shop', { eventsPerTransaction }),
  ],
  ['signal', [null, {}], (signal) => library.events('shop', { signal })],
  ['wallet', ['', 5], (wallet) => library.events('shop', { wallet })],
  ['database', [undefined, null, 5, {}, [], { options: {} }, ''], (from) => openLedger(from)],
  ['options', [null, 5], (options) => openLedger(connectionString, options)],
  [
    'poolSize',
    [0, -1, 1.5, '5', Number.NaN, null],
    (poolSize) => openLedger(connectionString, { poolSize }),
  ],
  ['wallet', ['', 5, null], (wallet) => openLedger(connectionString, { wallet })],
  ['onWarning', [5, 'log', null], (onWarning) => openLedger(connectionString, { onWarning })],
  ['the event', [null, undefined, 5, 'seen'], (event) => isTransactionEvent(event)],
  ['kind of the event', [{}, { kind: 5 }], (event) => isTransactionEvent(event)],
  ['options', [null, 5, []], (options) => startSandbox(options)],
  ['port', [-1, 1.5, '80', 65_536, Number.NaN], (port) => startSandbox({ port })],
  ['transactions', [-1, 1.5, '5', null], (transactions) => startSandbox({ transactions })],
  ['seed', [-1, 1.5, 'x', null], (seed) => startSandbox({ seed })],
  ['pageSizeMax', [0, 1.5, '5'], (pageSizeMax) => startSandbox({ pageSizeMax })],
  ['fault', [-0.1, 1.1, '0.5', Number.NaN, null], (fault) => startSandbox({ fault })],
  ['rate', [-1, '5', Number.NaN], (rate) => startSandbox({ rate })],
  ['arrivals', [-1, '5'], (arrivals) => startSandbox({ arrivals })],
  ['latency', [-1, '5'], (latency) => startSandbox({ latency })],
  ['settleMs', [-1, '5'], (settleMs) => startSandbox({ settleMs })],
  ['wallets', [[], 'main', null], (wallets) => startSandbox({ wallets })],
  ['wallet', [[''], ['EU'], [5], [null], [undefined]], (wallets) => startSandbox({ wallets })],
  ['order', ['newest', '', null], (order) => startSandbox({ order })],
  ['signer', ['rsa', '', null], (signer) => startSandbox({ signer })],
  [
    'paramNames',
    [
      null,
      'page=p',
      { pages: 'p' },
      { page: '' },
      { page: 'a b' },
      { page: null },
      { page: 'type' },
    ],
    (paramNames) => startSandbox({ paramNames }),
  ],
  [
    'colour',
    [{ colour: 'red' }, { colour: undefined }, { port: 0, colour: 1 }],
    (options) => startSandbox(options),
  ],
  ['must not have faultRate', [{ faultRate: 1 }], (options) => startSandbox(options)],
  ['must not have adress', [{ adress: 'a' }], (deposit) => sandbox.addDeposit(deposit)],
  ['must not have kind', [{ kind: 'reset' }], (faults) => sandbox.setFaults(faults)],
  ['push', ['here', '', null, 5], (push) => startSandbox({ push })],
  ['the deposit', [null, 5], (deposit) => sandbox.addDeposit(deposit)],
  ['amount', ['x', '', 5, '-1', 'NaN', null], (amount) => sandbox.addDeposit({ amount })],
  ['slip44', [1.5, '60', Number.NaN, null], (slip44) => sandbox.addDeposit({ slip44 })],
  ['no coin NONE', ['NONE'], (symbol) => sandbox.addDeposit({ symbol })],
  [
    'an amount of',
    ['1.1234567890123456789'],
    (amount) => sandbox.addDeposit({ amount, slip44: 60 }),
  ],
  ['no transaction none', ['none'], (orderNo) => sandbox.setState(orderNo, 'success')],
  ['chain 7', [7], (slip44) => sandbox.addDeposit({ slip44 })],
  ['symbol', ['', 5, null], (symbol) => sandbox.addDeposit({ symbol })],
  ['toAddress', ['', 5, null], (toAddress) => sandbox.addDeposit({ toAddress })],
  ['state', ['', 5, null], (state) => sandbox.addDeposit({ state })],
  ['wallet', ['nobody', '', 5, null], (wallet) => sandbox.addDeposit({ wallet })],
  ['orderNo', ['', 5, null, undefined], (orderNo) => sandbox.setState(orderNo, 'success')],
  ['state', ['', 5, null, undefined], (state) => sandbox.setState('order', state)],
  ['ms', [-1, Number.NaN, '5', null, undefined], (ms) => sandbox.advance(ms)],
  ['the faults', [null, 5, undefined], (faults) => sandbox.setFaults(faults)],
  ['rate', [-1, 2, '1'], (rate) => sandbox.setFaults({ rate })],
  ['kinds', ['reset', ['none'], [5]], (kinds) => sandbox.setFaults({ kinds })],
];

test.each(
  tries.flatMap(([named, values, call]) =>
    values.map((value) => [named, inspect(value).slice(0, 30), value, call] as const),
  ),
)('a wrong %s is a usage error that names it: %s', async (named, _shown, value, call) => {
  await expect((async () => await call(value as Wrong))()).rejects.toMatchObject({
    name: 'LedgerError',
    code: 'usage',
    message: expect.stringContaining(named),
  });
});

test('a statement of a delivery that is no text, and values that are no array, are named', async () => {
  await query(`insert into engine.outbox (kind, key, data) values ('k', 'a', '{}')`);
  await numberEvents(ledger.db);
  for await (const delivery of library.events('shop')) {
    const run = delivery.query as (...args: unknown[]) => Promise<unknown>;
    for (const text of ['', null, undefined, 5, {}])
      await expect(run(text)).rejects.toMatchObject({ code: 'usage' });
    await expect(run('select 1', 5)).rejects.toMatchObject({ code: 'usage' });
    expect(await run('select $1::integer as one', [1])).toMatchObject({ rows: [{ one: 1 }] });
    break;
  }
});

test('a sandbox takes other names for its parameters, and its settings say so', async () => {
  const other = await startSandbox({
    transactions: 30,
    signer: 'none',
    paramNames: { page: 'p', size: 'limit' },
  });
  try {
    expect(other.settings).toMatchObject({
      WALLET_PARAM_NAMES: 'page=p,size=limit,chain=slip44,type=type',
    });
    const answer = await fetch(`${other.url}/v1/transaction/list?p=2&limit=3&pageSize=7`);
    expect(await answer.json()).toMatchObject({ data: { pageNo: 2, pageSize: 3 } });
  } finally {
    await other.close();
  }
});

test('what is right is let through: limits of the ranges, and options that are left out', async () => {
  await query(`insert into ledger.pools (slip44, threshold, target) values (0, 1, 1)`);
  expect(await library.takeAddress(0, ' alice 💰 ', {})).toBeNull();
  await expect(
    library.waitForDeposit(alice, { after: 0, timeoutMs: 1, until: 'seen', wallet: 'main' }),
  ).rejects.toMatchObject({ code: 'timed-out' });
  for (const eventsPerTransaction of [1, 10_000])
    await library.events('shop', { eventsPerTransaction, signal: AbortSignal.abort() }).return();
  expect(sandbox.addDeposit({ amount: '1.5' })).toEqual(expect.any(String));
  sandbox.advance(0);
});

test('a port that is in use is named with its cure', async () => {
  const port = Number(new URL(sandbox.url).port);
  await expect(startSandbox({ port })).rejects.toMatchObject({
    code: 'port-in-use',
    message: expect.stringContaining('EADDRINUSE'),
    cure: expect.stringContaining('port 0'),
  });
});

test('a closed sandbox takes no change', async () => {
  const closed = await startSandbox({ transactions: 1 });
  await closed.close();
  const changes = [
    () => closed.addDeposit(),
    () => closed.setState('order', 'success'),
    () => closed.advance(1),
    () => closed.setFaults({}),
  ];
  for (const change of changes)
    expect(change).toThrow(expect.objectContaining({ code: 'closed', cure: expect.any(String) }));
});
