import { expect, test } from 'vitest';
import { driftCount } from '../../src/sync/checks/drift.ts';
import { verifyAddresses } from '../../src/sync/checks/verify-addresses.ts';
import { verifyLedger } from '../../src/sync/checks/verify-ledger.ts';
import { verifyTransactions } from '../../src/sync/checks/verify-transactions.ts';
import { syncAllDetails } from '../../src/sync/details/sync-details.ts';
import { syncAddresses } from '../../src/sync/pools/sync-addresses.ts';
import { syncBalances } from '../../src/sync/snapshots/sync-balances.ts';
import { syncCoins } from '../../src/sync/snapshots/sync-coins.ts';
import { syncTransactions } from '../../src/sync/streams/sync-transactions.ts';
import { rowsOfLedger, rowsOfService } from '../support/compare-rows.ts';
import { onePass, type Wallet, withWallet } from '../support/with-wallet.ts';

const { signal } = new AbortController();

async function filledWallet(options: Parameters<typeof withWallet>[0]): Promise<Wallet> {
  const wallet = await withWallet({ addressesPerChain: 30, ...options }, { chains: [60] });
  await syncTransactions(wallet.context, onePass());
  await syncAllDetails(wallet.context, signal);
  await syncBalances(wallet.context, signal);
  await syncCoins(wallet.context, signal);
  await syncAddresses(wallet.context, onePass());
  return wallet;
}

const count = (drifts: Awaited<ReturnType<typeof verifyLedger>>) =>
  drifts.reduce((sum, drift) => sum + driftCount(drift), 0);

test.each(['newest-first', 'oldest-first'] as const)(
  'altered, deleted and invented rows of a list that is %s are reported exactly and repaired; new rows are no drift',
  async (listOrder) => {
    let frozenAt = Number.POSITIVE_INFINITY;
    const { sandbox, context, query } = await filledWallet({
      clock: () => Math.min(Date.now(), frozenAt),
      transactions: 1_500,
      arrivalsPerSecond: 20,
      settleMs: 500,
      listOrder,
    });
    const pick = async (limit: number, offset: number) =>
      (
        await query(
          'select order_no from ledger.transactions where is_final order by md5(order_no) limit $1 offset $2',
          [limit, offset],
        )
      ).map((row) => row.order_no);
    const altered = await pick(60, 0);
    const deleted = await pick(40, 60);
    await query(
      `update ledger.transactions set amount = amount + 1, state = 'odd' where order_no = any($1)`,
      [altered],
    );
    await query('delete from ledger.transactions where order_no = any($1)', [deleted]);
    const invented = (
      await query(`
        insert into ledger.transactions (order_no, stream, symbol, amount, type, state, occurred_at, is_final, first_seen_at, changed_at, observed_at, observation)
        select 'invented-' || order_no, stream, symbol, amount, type, state, occurred_at, true, now(), now(), now(), observation
          from ledger.transactions order by md5(order_no) limit 7 returning order_no`)
    ).map((row) => row.order_no);
    const held = await query('select order_no, is_final from ledger.transactions');
    const isFinal = new Map(held.map((row) => [row.order_no, row.is_final]));
    const startedAt = Date.now();
    const rowsBefore = sandbox.world.transactions();
    const lacking = rowsBefore.filter(({ orderNo }) => !isFinal.has(orderNo));
    const found = await verifyLedger(context, { signal, isRepair: false });
    frozenAt = Date.now();
    const all = (what: 'missing' | 'extra') => new Set(found.flatMap((drift) => drift[what]));
    const missing = all('missing');
    expect([...deleted, ...lacking.map(({ orderNo }) => orderNo)]).toSatisfy((orderNos: string[]) =>
      orderNos.every((orderNo) => missing.has(orderNo)),
    );
    const arrived = sandbox.world.transactions().filter(({ time }) => time > startedAt + 1_000);
    expect(arrived.length).toBeGreaterThan(10);
    expect(arrived.filter(({ orderNo }) => missing.has(orderNo))).toEqual([]);
    expect(all('extra')).toEqual(new Set(invented));
    const named = found.flatMap((drift) => drift.different);
    const isSettling = ({ orderNo }: { orderNo: string }) => isFinal.get(orderNo) === false;
    expect(named.filter(isSettling).every(({ fields }) => fields.includes('state'))).toBe(true);
    const different = named.filter((row) => !isSettling(row));
    expect(new Set(different.map(({ orderNo }) => orderNo))).toEqual(new Set(altered));
    expect(different.every(({ fields }) => fields.join() === 'amount,state')).toBe(true);
    for (const { orderNo, ledger, service } of different) {
      const told = sandbox.world.transactions().find((row) => row.orderNo === orderNo);
      expect(service).toEqual({ amount: told?.amount, state: told?.state });
      expect(ledger['state']).toBe('odd');
      expect(Number(ledger['amount'])).toBeCloseTo(Number(told?.amount) + 1);
    }

    const repaired = await verifyLedger(context, { signal, isRepair: true });
    expect(repaired.reduce((sum, drift) => sum + drift.repaired, 0)).toBe(count(repaired));
    expect(count(repaired)).toBeGreaterThanOrEqual(107);
    expect(count(await verifyLedger(context, { signal, isRepair: false }))).toBe(0);
    const rows = await query(
      'select count(*)::int as n from ledger.transactions where not is_listed',
    );
    expect(rows[0].n).toBe(7);
    const log = await query(
      `select count(distinct order_no)::int as n from ledger.transaction_changes where field = 'amount'`,
    );
    expect(log[0].n).toBe(60);
    expect(sandbox.stats.signatureFailures).toBe(0);
  },
  120_000,
);

test('after a repair the ledger equals the service digit for digit, and the list is proven', async () => {
  const { sandbox, context, query } = await filledWallet({ transactions: 500 });
  await query(
    `delete from ledger.transactions where order_no in (select order_no from ledger.transactions order by md5(order_no) limit 50)`,
  );
  await query(
    `update ledger.transactions set to_address = 'elsewhere' where order_no in (select order_no from ledger.transactions order by md5(order_no) limit 20)`,
  );
  await verifyLedger(context, { signal, isRepair: true });
  expect(await rowsOfLedger(async (text) => await query(text))).toEqual(rowsOfService(sandbox));
  expect((await syncTransactions(context, onePass())).isComplete).toBe(true);
});

const proofs = `
  select name, is_complete, service_total = ledger_count as is_equal, not_complete_because as why
    from ledger.streams order by 1`;
const proven = ['addresses:60', 'deposit', 'withdraw'].map((name) => ({
  name,
  is_complete: true,
  is_equal: true,
  why: null,
}));

test('a repair that adds new rows leaves the proof that its reading gives', async () => {
  const { sandbox, context, query } = await filledWallet({ transactions: 150 });
  const [orderNo] = sandbox.world.addTransactions(1, { type: 'deposit' });
  const drifts = await verifyLedger(context, { signal, isRepair: false });
  expect(drifts.map((drift) => [drift.name, drift.missing])).toContainEqual(['deposit', [orderNo]]);
  expect(count(drifts)).toBe(1);
  await context.client.generateAddresses({ slip44: 60, num: 10 });
  await verifyLedger(context, { signal, isRepair: true });
  expect(await query(proofs)).toEqual(proven);
  expect(await rowsOfLedger(query)).toEqual(rowsOfService(sandbox));
});

test('a repair that marks vanished rows leaves the proof that its reading gives, without another scan', async () => {
  const { sandbox, context, query } = await filledWallet({ transactions: 600, pageSizeMax: 10 });
  const [vanished] = await query(
    `select order_no from ledger.transactions where stream = 'deposit' order by md5(order_no) limit 1`,
  );
  sandbox.world.removeTransaction(vanished.order_no);
  const requestsBefore = context.client.requests();
  const found = await verifyLedger(context, { signal, isRepair: true });
  expect(found.flatMap(({ extra }) => extra)).toEqual([vanished.order_no]);
  expect(await query(proofs)).toEqual(proven);
  // Two scans of the list that lost the row, and one of the other.
  const [pages] = await query(
    `select sum(ledger_count * case name when 'deposit' then 2 else 1 end)::int / 10 as n from ledger.streams where name <> 'addresses:60'`,
  );
  const requests = context.client.requests();
  expect(requests - requestsBefore).toBeLessThan(pages.n + 25);
  expect((await syncTransactions(context, onePass())).isComplete).toBe(true);
  expect(context.client.requests() - requests).toBe(2);
});

test('a repair that stored only a part of the missing rows proves nothing, although the counts are then equal', async () => {
  const { sandbox, context, query } = await withWallet({ transactions: 2_500 });
  const { world } = sandbox;
  await syncTransactions(context, onePass());
  const [held] = await query(
    `select count(*)::int as rows, extract(epoch from min(occurred_at)) * 1000 as oldest
       from ledger.transactions where stream = 'deposit'`,
  );
  world.addTransactions(1, { type: 'deposit', at: Number(held.oldest) + 1 });
  // A daemon counts the late row and searches for it only after some passes.
  await syncTransactions(context, onePass({ effort: 'daemon' }), ['deposit']);
  world.addTransactions(1, { type: 'deposit' });
  const unknownEnd = { total: null, newest: null };
  await verifyTransactions(context, 'deposit', { signal, isRepair: true }, unknownEnd);
  expect(
    await query(
      `select is_complete, ledger_count::int as rows from ledger.stream_proofs where name = 'deposit' order by id`,
    ),
  ).toEqual([
    { is_complete: true, rows: held.rows },
    { is_complete: false, rows: held.rows },
    { is_complete: true, rows: held.rows + 2 },
  ]);
}, 60_000);

test('a repair that stored only a part of the addresses proves nothing', async () => {
  const options = { transactions: 0, addressesPerChain: 2_500 };
  const { sandbox, context, query } = await withWallet(options, { chains: [60] });
  await syncAddresses(context, onePass());
  const [oldest] = sandbox.world.addresses(60);
  await query('delete from ledger.addresses where address = $1', [oldest]);
  await query(`update ledger.streams set ledger_count = 2499 where name = 'addresses:60'`);
  sandbox.world.generateAddresses(60, 1);
  await verifyAddresses(context, 60, { signal, isRepair: true });
  expect(
    await query(
      `select is_complete, ledger_count::int as rows from ledger.stream_proofs where name = 'addresses:60' order by id`,
    ),
  ).toEqual([
    { is_complete: true, rows: 2_500 },
    { is_complete: false, rows: 2_499 },
    { is_complete: true, rows: 2_501 },
  ]);
}, 60_000);

test('after a repair of deleted addresses their list is complete, because its count is that of its rows', async () => {
  const { sandbox, context, query } = await filledWallet({ transactions: 0 });
  const deleted = sandbox.world.addresses(60).slice(0, 2);
  await query('delete from ledger.addresses where address = any($1)', [deleted]);
  await verifyAddresses(context, 60, { signal, isRepair: true });
  const [list] = await query(`
    select s.is_complete, s.ledger_count::int as counted, s.doubt, (select count(*)::int from ledger.addresses) as rows
      from ledger.streams s where s.name = 'addresses:60'`);
  expect(list).toEqual({ is_complete: true, counted: 30, doubt: null, rows: 30 });
}, 60_000);

test('a verification without differences proves a list in doubt, and a repaired one that was never read', async () => {
  const { context, query } = await filledWallet({ transactions: 300 });
  await query(`
    update ledger.streams set doubt = 'the rows of a day differed',
      checkpoint = jsonb_set(checkpoint, '{isScanUnclean}', 'true') where name = 'deposit'`);
  expect(count(await verifyLedger(context, { signal, isRepair: false }))).toBe(0);
  expect(await query(proofs)).toEqual(proven);
  await query(
    `delete from ledger.streams where name <> 'addresses:60'; delete from ledger.transactions`,
  );
  await verifyLedger(context, { signal, isRepair: true });
  expect(await query(proofs)).toEqual(proven);
});

test.each([3, -3])('a verification proves nothing if the total is wrong by %i', async (wrong) => {
  const { sandbox, context, query } = await filledWallet({ transactions: 300 });
  const accepted = `select accepted_difference, is_complete, not_complete_because as why from ledger.streams where name = 'deposit'`;
  sandbox.faults.totalError = wrong;
  await syncTransactions(context, onePass({ effort: 'backfill' }));
  const before = await query(accepted);
  expect(before).toMatchObject([{ is_complete: false }]);
  const [deleted] = await query(
    `delete from ledger.transactions where order_no = (select min(order_no) from ledger.transactions where stream = 'deposit') returning order_no`,
  );
  const found = await verifyLedger(context, { signal, isRepair: true });
  expect(found.flatMap(({ missing }) => missing)).toEqual([deleted.order_no]);
  expect(found[0]).toMatchObject({ name: 'deposit', unshown: Math.max(0, wrong) });
  expect(await query(accepted)).toEqual(before);
});

test('differences of balances, coins and addresses are reported and corrected', async () => {
  const { context, query } = await filledWallet({ transactions: 100 });
  const equal = await verifyLedger(context, { signal, isRepair: false });
  expect(count(equal)).toBe(0);
  const totals = await query('select from ledger.daily_totals');
  expect(equal.at(-1)).toMatchObject({ name: 'totals', compared: totals.length });
  await query(`update ledger.balances set balance = balance + 1 where symbol = 'BTC'`);
  await query(`update ledger.coins set decimals = 3 where symbol = 'LTC'`);
  await query(
    `delete from ledger.addresses where address = (select min(address) from ledger.addresses)`,
  );
  const found = await verifyLedger(context, { signal, isRepair: false });
  expect(found.map((drift) => [drift.name, driftCount(drift)])).toEqual([
    ['deposit', 0],
    ['withdraw', 0],
    ['balances', 1],
    ['coins', 1],
    ['addresses:60', 1],
    ['totals', 0],
  ]);
  await verifyLedger(context, { signal, isRepair: true });
  expect(count(await verifyLedger(context, { signal, isRepair: false }))).toBe(0);
});

test.each([0, 1])(
  'balances that cannot be stored are counted and not removed by a repair, nor are %i that the answer lacks',
  async (lacking) => {
    const { context } = await filledWallet({ transactions: 10 });
    const client: typeof context.client = {
      ...context.client,
      listBalances: async (...asked) => {
        const answer = await context.client.listBalances(...asked);
        const payload = '{"symbol":null}';
        const reject = { orderNo: null, field: 'symbol', reason: 'symbol is missing', payload };
        const records = answer.records.slice(lacking);
        return { ...answer, records, rejects: [{ ...reject, source: 'balance-list' }] };
      },
    };
    for (const isRepair of [false, true]) {
      const drifts = await verifyLedger({ ...context, client }, { signal, isRepair });
      const balances = drifts.find(({ name }) => name === 'balances');
      expect(balances).toMatchObject({ unstorable: 1, missing: [], different: [], repaired: 0 });
      expect(count(drifts)).toBe(1 + lacking);
    }
  },
);

test('a manual change of a field of the detail or of an open row is reported and corrected', async () => {
  const { sandbox, context, query } = await filledWallet({
    transactions: 400,
    settleMs: 60 * 86_400_000,
  });
  const pick = (condition: string) => `(select order_no from ledger.transactions
    where detail_synced_at is not null and ${condition} order by md5(order_no) limit 5)`;
  await query(
    `update ledger.transactions set fee = coalesce(fee, 0) + 1 where order_no in ${pick('is_final')}`,
  );
  await query(
    `update ledger.transactions set confirm_num = 99999 where order_no in ${pick('fee < 1 and is_final')}`,
  );
  await query(
    `update ledger.transactions set state = 'odd' where order_no in ${pick('not is_final')}`,
  );
  await query(
    `update ledger.transactions set extra = '{"note": 1}' where order_no in ${pick(`state = 'success' and confirm_num < 99999 and fee < 1`)}`,
  );
  const requests = context.client.requests();
  const found = await verifyLedger(context, { signal, isRepair: false });
  const fields = found.flatMap((drift) => drift.different).flatMap((row) => row.fields);
  expect(count(found)).toBe(15);
  expect(new Set(fields)).toEqual(new Set(['fee', 'confirmNum', 'state']));
  // Only rows changed by hand cost a detail: 15 with changed fees, confirmations and notes.
  expect(context.client.requests() - requests).toBeLessThanOrEqual(15 + 8 + 4);
  await verifyLedger(context, { signal, isRepair: true });
  expect(count(await verifyLedger(context, { signal, isRepair: false }))).toBe(0);
  expect(await rowsOfLedger(query)).toEqual(rowsOfService(sandbox));
});

test('a row that was final between two readings of the list and then changed back is reported and read again', async () => {
  const { sandbox, context, query } = await filledWallet({ transactions: 200 });
  const [orderNo = ''] = sandbox.world.addTransactions(1, { type: 'deposit' });
  sandbox.world.setState(orderNo, 'pending');
  await syncTransactions(context, onePass());
  const state = () => query('select state from ledger.transactions where order_no = $1', [orderNo]);
  const readDetailAs = async (word: string) => {
    sandbox.world.setState(orderNo, word);
    await query('update engine.detail_checks set due_at = now(), claimed_until = null');
    await syncAllDetails(context, signal);
  };
  await readDetailAs('success');
  expect(await state()).toEqual([{ state: 'success' }]);
  sandbox.world.setState(orderNo, 'pending');
  const found = await verifyLedger(context, { signal, isRepair: false });
  expect(found.flatMap(({ different }) => different)).toMatchObject([
    { orderNo, ledger: { state: 'success' }, service: { state: 'pending' } },
  ]);
  await syncTransactions(context, onePass());
  await syncAllDetails(context, signal);
  expect(await state()).toEqual([{ state: 'pending' }]);
  expect(count(await verifyLedger(context, { signal, isRepair: false }))).toBe(0);
});

test('a fee that the service does not have is removed', async () => {
  const { context, query } = await filledWallet({ transactions: 200 });
  const free = await query(`select order_no from ledger.transactions where fee is null limit 3`);
  await query(`update ledger.transactions set fee = 7 where fee is null`);
  const found = await verifyLedger(context, { signal, isRepair: true });
  expect(count(found) > 0).toBe(free.length > 0);
  expect(await query('select 1 from ledger.transactions where fee = 7')).toEqual([]);
});

test('a verification without differences marks its days as verified, also if marks and counts were lost', async () => {
  const { context, query } = await withWallet({ transactions: 400 });
  await syncTransactions(context, onePass());
  await syncAllDetails(context, signal);
  await query(`
    update ledger.coverage set verified_at = null, transactions = transactions + 1 where stream = 'deposit'`);
  await verifyLedger(context, { signal, isRepair: true });
  const rows = await query(`
    select s.name, s.is_complete, s.verified_through is not null as is_verified,
           s.ledger_count = (select sum(transactions) from ledger.coverage c where c.stream = s.name) as adds_up
      from ledger.streams s where s.name in ('deposit', 'withdraw') order by 1`);
  expect(rows).toEqual(
    ['deposit', 'withdraw'].map((name) => ({
      name,
      is_complete: true,
      is_verified: true,
      adds_up: true,
    })),
  );
});

test('running totals that were changed with the triggers disabled are reported and corrected', async () => {
  const { context, query } = await filledWallet({ transactions: 200 });
  await query(`
    alter table ledger.transactions disable trigger user;
    update ledger.transactions set fee = 1000 where order_no in (select order_no from ledger.transactions where stream = 'withdraw' limit 1);
    alter table ledger.transactions enable trigger user;
    select engine.fold_totals();
    update engine.daily_sums set amount = amount + 1 where key = (select key from engine.daily_sums where stream = 'deposit' limit 1)`);
  const totals = async (isRepair: boolean) =>
    (await verifyLedger(context, { signal, isRepair })).find(({ name }) => name === 'totals');
  const found = await totals(false);
  expect(found?.different.map(({ fields }) => fields).sort()).toEqual([['amount'], ['fee']]);
  expect(found?.different[0]?.orderNo).toMatch(/^\d{4}-\d\d-\d\d\/(deposit|withdraw)\//);
  // The repair corrects the fee first, and the totals with it.
  expect((await totals(true))?.repaired).toBe(2);
  expect(await totals(false)).toMatchObject({ different: [], repaired: 0 });
}, 60_000);

test('no address counts as extra because its list changes between the pages', async () => {
  const { context } = await withWallet(
    { transactions: 0, addressesPerChain: 60, listOrder: 'shuffled', pageSizeMax: 10 },
    { chains: [60] },
  );
  await syncAddresses(context, onePass());
  const drifts = await verifyLedger(context, { signal, isRepair: false });
  expect(drifts.find(({ name }) => name === 'addresses:60')?.extra).toEqual([]);
});
