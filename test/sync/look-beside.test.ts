import { expect, test } from 'vitest';
import { LedgerError } from '../../src/kernel/errors.ts';
import { syncTransactions } from '../../src/sync/streams/sync-transactions.ts';
import { toolsOver } from '../support/tools-over.ts';
import { onePass, type Wallet, withWallet } from '../support/with-wallet.ts';

type ListPage = Awaited<ReturnType<Wallet['context']['client']['listTransactions']>>;

const asking = onePass({ ifLeased: 'ask', sliceMs: 200, effort: 'daemon' });

/** A wallet whose deposits were read once and are being read by a pass that never ends. */
async function withBusyList(options: Parameters<typeof withWallet>[0]) {
  const wallet = await withWallet({ transactions: 300, ...options });
  await syncTransactions(wallet.context, onePass());
  await leaseElsewhere(wallet);
  wallet.sandbox.stats.reset();
  return wallet;
}

/** Gives the deposits to another pass for as long as the process lives. */
async function leaseElsewhere({ query, ledger }: Wallet): Promise<void> {
  await query(
    `update ledger.streams set lease_owner = '${ledger.instance} other', lease_until = now() + interval '1 hour'
      where name = 'deposit'`,
  );
}

async function isHeld({ query }: Wallet) {
  const [row] = await query(`select lease_owner from ledger.streams where name = 'deposit'`);
  return String(row?.['lease_owner']).endsWith(' other');
}

test('a new row is stored during a pass over its list: it costs one page, and the pass keeps the list', async () => {
  const wallet = await withBusyList({});
  const [orderNo] = wallet.sandbox.world.addTransactions(1, { type: 'deposit' });
  expect(await syncTransactions(wallet.context, asking, ['deposit'])).toMatchObject({
    rowsInserted: 1,
  });
  expect(
    await wallet.query(`select order_no from ledger.transactions where order_no = '${orderNo}'`),
  ).toHaveLength(1);
  expect(wallet.sandbox.stats.listRequests.deposit).toBe(1);
  expect(await isHeld(wallet)).toBe(true);
});

test('a first page with only new rows is left to the next pass, for which it would look like the last new page', async () => {
  const wallet = await withBusyList({});
  wallet.sandbox.world.addTransactions(250, { type: 'deposit' });
  expect(
    await syncTransactions(wallet.context, { ...asking, signal: AbortSignal.timeout(60_000) }, [
      'deposit',
    ]),
  ).toMatchObject({
    rowsInserted: 0,
  });
  await wallet.query(`update ledger.streams set lease_owner = null`);
  expect(await syncTransactions(wallet.context, onePass())).toMatchObject({
    isComplete: true,
    rowsInserted: 250,
  });
});

test('no request is sent for a list that begins with its oldest rows', async () => {
  const wallet = await withBusyList({ listOrder: 'oldest-first' });
  await syncTransactions(wallet.context, asking, ['deposit']);
  expect(wallet.sandbox.stats.listRequests.deposit).toBe(0);
});

/** The proof of the deposits, or the reason if it is missing. */
async function proofOf({ query }: Wallet) {
  const [row] = await query(
    `select is_complete, not_complete_because from ledger.streams where name = 'deposit'`,
  );
  return row;
}

test('rows that arrive while another pass reads the list do not end the proof: the total that counts them is stored with them', async () => {
  const wallet = await withBusyList({});
  for (const _ of [1, 2, 3]) {
    wallet.sandbox.world.addTransactions(1, { type: 'deposit' });
    expect(await syncTransactions(wallet.context, asking, ['deposit'])).toMatchObject({
      rowsInserted: 1,
    });
    expect(await proofOf(wallet)).toEqual({ is_complete: true, not_complete_because: null });
  }
  await wallet.query(`update ledger.streams set lease_owner = null`);
  wallet.sandbox.stats.reset();
  expect(await syncTransactions(wallet.context, onePass(), ['deposit'])).toMatchObject({
    isComplete: true,
    rowsInserted: 0,
  });
  expect(wallet.sandbox.stats.listRequests.deposit).toBe(1);
  const proofs = await wallet.query(
    `select is_complete from ledger.stream_proofs where name = 'deposit' order by id`,
  );
  expect(proofs).toEqual([{ is_complete: true }]);
});

test('a pass that read the total before a concurrent head read does not overwrite its later total', async () => {
  const wallet = await withWallet({ transactions: 300 });
  const { context, sandbox, query } = wallet;
  await syncTransactions(context, onePass());
  let hasLooked = false;
  const client: typeof context.client = {
    ...context.client,
    async listTransactions(...asked) {
      const page = await context.client.listTransactions(...asked);
      if (hasLooked) return page;
      hasLooked = true;
      sandbox.world.addTransactions(1, { type: 'deposit' });
      expect(await syncTransactions(context, asking, ['deposit'])).toMatchObject({
        rowsInserted: 1,
      });
      return page;
    },
  };
  const slow = onePass({ effort: 'daemon' });
  expect(await syncTransactions({ ...context, client }, slow, ['deposit'])).toBeDefined();
  expect(await proofOf(wallet)).toEqual({ is_complete: true, not_complete_because: null });
  const proofs = await query(
    `select is_complete from ledger.stream_proofs where name = 'deposit' order by id`,
  );
  expect(proofs).toEqual([{ is_complete: true }]);
});

test('if another row is missing further back, a new row is left to the next pass, as equal counts would be a false proof', async () => {
  const wallet = await withWallet({ transactions: 300 });
  const { world } = wallet.sandbox;
  await syncTransactions(wallet.context, onePass());
  const [oldest] = await wallet.query(
    `select extract(epoch from min(occurred_at)) * 1000 as ms from ledger.transactions where stream = 'deposit'`,
  );
  const [late] = world.addTransactions(1, { type: 'deposit', at: Number(oldest?.['ms']) + 1 });
  // A daemon counts the late row and searches for it only after some passes.
  await syncTransactions(wallet.context, onePass({ effort: 'daemon' }), ['deposit']);
  expect(await proofOf(wallet)).toMatchObject({ is_complete: false });
  await leaseElsewhere(wallet);
  world.addTransactions(1, { type: 'deposit' });
  await syncTransactions(wallet.context, asking, ['deposit']);
  expect(
    await wallet.query(`select from ledger.transactions where order_no = '${late}'`),
  ).toHaveLength(0);
  expect(await proofOf(wallet)).toMatchObject({ is_complete: false });
  await wallet.query(`update ledger.streams set lease_owner = null`);
  expect(await syncTransactions(wallet.context, onePass())).toMatchObject({
    isComplete: true,
    rowsInserted: 2,
  });
});

test('a first page that is older than rows stored since proves nothing, because its total does not count them', async () => {
  const wallet = await withWallet({ transactions: 300 });
  const { context, sandbox, query } = wallet;
  await syncTransactions(context, onePass());
  const [{ ms } = {}] = await query(
    `select extract(epoch from min(occurred_at)) * 1000 as ms from ledger.transactions where stream = 'deposit'`,
  );
  const [late] = sandbox.world.addTransactions(1, { type: 'deposit', at: Number(ms) + 1 });
  const [missed] = sandbox.world.addTransactions(1, { type: 'deposit' });
  /** Answers every request for the first page of the list with a changed page. */
  const changing = (change: (page: ListPage) => ListPage) =>
    answering(wallet, async (pageNo, ask) => (pageNo === 1 ? change(await ask()) : ask()));
  let before: ListPage | undefined;
  const remembering = changing((page) => {
    before ??= page;
    return { ...page, records: page.records.filter(({ orderNo }) => orderNo !== missed) };
  });
  await syncTransactions(remembering, onePass({ effort: 'daemon' }), ['deposit']);
  sandbox.world.addTransactions(1, { type: 'deposit' });
  await syncTransactions(remembering, onePass({ effort: 'daemon' }), ['deposit']);
  expect(await proofOf(wallet)).toMatchObject({ is_complete: false });
  await leaseElsewhere(wallet);
  await syncTransactions(
    changing((page) => before ?? page),
    asking,
    ['deposit'],
  );
  expect(await query(`select from ledger.transactions where order_no = '${late}'`)).toEqual([]);
  expect(await proofOf(wallet)).toMatchObject({ is_complete: false });
});

test('a page with a row that PostgreSQL refuses fails no pass: it is left to a pass that stores the row as a reject', async () => {
  const wallet = await withBusyList({});
  const { world } = wallet.sandbox;
  await wallet.query(`alter table ledger.transactions add check (symbol <> 'NO')`);
  const bad = { orderNo: 'bad', symbol: 'NO', type: 'deposit', state: 'success', amount: '1' };
  const time = Date.now() + 1_000;
  world.addRawListRow('deposit', { ...bad, time }, { at: time });
  expect(await syncTransactions(wallet.context, asking, ['deposit'])).toMatchObject({
    rowsInserted: 0,
  });
  await wallet.query(`update ledger.streams set lease_owner = null`);
  await syncTransactions(wallet.context, onePass());
  expect(await wallet.query('select order_no from ledger.rejects')).toEqual([{ order_no: 'bad' }]);
});

/** A client that answers a request for deposits with `answer`, which may call the service itself. */
function answering(
  { context }: Pick<Wallet, 'context'>,
  answer: (pageNo: number, ask: () => Promise<ListPage>) => Promise<ListPage>,
) {
  const { client } = context;
  const listTransactions: typeof client.listTransactions = (asked, signal) =>
    answer(asked.pageNo, () => client.listTransactions(asked, signal));
  return { ...context, client: { ...client, listTransactions } };
}

/** A wallet whose first scan was interrupted behind the second of four pages. */
async function withHalfAScan() {
  const wallet = await withWallet({ transactions: 600 });
  const { query, sandbox } = wallet;
  /** Continues reading, one page after the other. */
  const scan = (answer: Parameters<typeof answering>[1]) =>
    syncTransactions(
      toolsOver(answering(wallet, answer), { concurrency: 1 }),
      onePass({ effort: 'daemon' }),
      ['deposit'],
    );
  const interrupted = scan(async (page, ask) => {
    if (page > 2) throw new LedgerError('service-unreachable', 'interrupted');
    return ask();
  });
  await expect(interrupted).rejects.toThrow('interrupted');
  const [{ ms, rows } = {}] = await query(
    `select extract(epoch from (array_agg(occurred_at order by occurred_at desc))[150]) * 1000 as ms, count(*)::int as rows
       from ledger.transactions`,
  );
  expect(rows).toBe(200);
  let late: string | undefined;
  return {
    ...wallet,
    scan,
    addRow: () => sandbox.world.addTransactions(1, { type: 'deposit' }),
    /** Adds a row to a page that was already read. */
    addLateRow() {
      const at = Math.floor(Number(ms)) + 1;
      [late] = sandbox.world.addTransactions(1, { type: 'deposit', at });
    },
    isLateRowStored: async () =>
      (await query(`select from ledger.transactions where order_no = '${late}'`)).length > 0,
    proofs: () =>
      query(`select is_complete from ledger.stream_proofs where name = 'deposit' order by id`),
  };
}

const lastPage = 4;

test.each([
  ['with', {}],
  ['without', { totalSize: null }],
])(
  'a first scan beyond the place of a late row is not complete because of a new row stored concurrently: answers %s a total',
  async (_, change) => {
    const wallet = await withHalfAScan();
    const beside = answering(wallet, async (_page, ask) => ({ ...(await ask()), ...change }));
    let hasReadLast = false;
    await wallet.scan(async (page, ask) => {
      if (page !== lastPage || hasReadLast) return ask();
      hasReadLast = true;
      wallet.addLateRow();
      const answer = await ask();
      wallet.addRow();
      await syncTransactions(beside, asking, ['deposit']);
      return answer;
    });
    const isStored = await wallet.isLateRowStored();
    expect(await wallet.proofs()).toEqual(isStored ? [{ is_complete: true }] : []);
    expect(await syncTransactions(wallet.context, onePass(), ['deposit'])).toMatchObject({
      isComplete: true,
    });
    expect([await wallet.isLateRowStored(), await wallet.proofs()]).toEqual([
      true,
      [{ is_complete: true }],
    ]);
  },
);

test('a row that an earlier request counted and a later head read did not is a doubt at once', async () => {
  const wallet = await withWallet({ transactions: 300 });
  const { context, sandbox } = wallet;
  await syncTransactions(context, onePass());
  let requests = 0;
  const proofs: unknown[] = [];
  const moving = answering(wallet, async (_page, ask) => {
    requests += 1;
    if (requests > 1) proofs.push(await proofOf(wallet));
    if (requests > 1) return ask();
    const { observation } = await ask();
    sandbox.world.addTransactions(1, { type: 'deposit' });
    expect(await syncTransactions(context, asking, ['deposit'])).toMatchObject({ rowsInserted: 1 });
    sandbox.world.addTransactions(1, { type: 'deposit', at: 1_500_000_000_000 });
    return { ...(await ask()), observation };
  });
  await syncTransactions(moving, onePass(), ['deposit']);
  expect(proofs[0]).toMatchObject({ is_complete: false });
});
