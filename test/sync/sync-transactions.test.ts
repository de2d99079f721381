import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { restartStreams } from '../../src/ledger/lists/stream-store.ts';
import { auditHistory } from '../../src/sync/checks/audit-history.ts';
import { openDetailPort } from '../../src/sync/details/detail-port.ts';
import {
  syncAllDetails,
  syncDetails,
  syncDetailsThrough,
} from '../../src/sync/details/sync-details.ts';
import { syncTransactions } from '../../src/sync/streams/sync-transactions.ts';
import { rowsOfLedger, rowsOfService } from '../support/compare-rows.ts';
import { openTcpGate } from '../support/tcp-gate.ts';
import { onePass, openWallet, type Wallet, withWallet } from '../support/with-wallet.ts';

const signal = new AbortController().signal;

/** The view of another process on the wallet, whose database can be disconnected. */
async function openBehindGate({ sandbox, connectionString }: Wallet) {
  const gate = await openTcpGate(connectionString);
  onTestFinished(() => gate.close());
  const opened = await openWallet(sandbox, gate.url);
  onTestFinished(() => opened.ledger.close());
  return { ...opened, gate };
}

describe('transactions and their details', () => {
  test('the ledger equals the service field for field and digit for digit, and is marked as complete', async () => {
    const { sandbox, context, query } = await withWallet({ transactions: 1_500 });
    const listed = await syncTransactions(context, onePass());
    expect(listed).toMatchObject({ isComplete: true, rowsInserted: 1_500 });
    const detailed = await syncAllDetails(context, signal);
    expect(detailed.isComplete).toBe(true);
    expect(await rowsOfLedger(query)).toEqual(rowsOfService(sandbox));
    const rows = await query('select * from ledger.streams order by name');
    expect(rows.map((row) => [row.name, row.list_order, row.is_complete])).toEqual([
      ['deposit', 'newest-first', true],
      ['withdraw', 'newest-first', true],
    ]);
  });

  test('the planner knows from the first rows on that a wallet has many rows', async () => {
    const { context, query } = await withWallet({ transactions: 400 });
    const ofWallet = () =>
      query(`select n_distinct from pg_stats
              where schemaname = 'ledger' and tablename = 'transactions' and attname = 'wallet'`);
    expect(await ofWallet()).toEqual([]);
    await syncTransactions(context, onePass());
    expect(await ofWallet()).toEqual([{ n_distinct: 1 }]);
  });

  test('a plan that was made for few rows does not read all rows for each row of a batch', async () => {
    const { sandbox, connectionString, query } = await withWallet({ transactions: 20 });
    const database = new URL(connectionString).pathname.slice(1);
    await query(`alter database "${database}" set plan_cache_mode = force_generic_plan`);
    const { context, ledger } = await openWallet(sandbox, connectionString);
    await syncTransactions(context, onePass());
    await query('analyze ledger.transactions');
    sandbox.world.addTransactions(5, { type: 'deposit' });
    await syncTransactions(context, onePass());
    await syncAllDetails(context, signal);
    sandbox.world.addTransactions(3_000, { type: 'deposit' });
    await syncTransactions(context, onePass());
    await syncAllDetails(context, signal);
    // A connection reports its counts when it ends, at the latest.
    await ledger.close();
    const [read] = await query(`
      select count(*)::int as rows, (select seq_tup_read::int from pg_stat_user_tables where relid = 'ledger.transactions'::regclass) as scanned
        from ledger.transactions`);
    expect(read?.rows).toBe(3_025);
    expect(read?.scanned).toBeLessThan(100_000);
  });

  test('the first scan of a list precedes the details of its history, and a later scan runs beside them', async () => {
    const { context, query } = await withWallet({ transactions: 600, pageSizeMax: 50 });
    const lanes = new Set<string>();
    const client: typeof context.client = {
      ...context.client,
      async listTransactions(page, inFlight) {
        if (page.pageNo > 2) lanes.add(page.lane ?? 'head');
        return await context.client.listTransactions(page, inFlight);
      },
    };
    await syncTransactions({ ...context, client }, onePass());
    expect([...lanes]).toEqual(['current']);
    lanes.clear();
    await query(`delete from ledger.transactions where order_no in (
      select order_no from ledger.transactions where stream = 'deposit' order by occurred_at limit 30)`);
    await syncTransactions({ ...context, client }, onePass({ effort: 'backfill' }));
    expect(lanes).toContain('backlog');
    expect(lanes).not.toContain('current');
  });

  test.each(['newest-first', 'oldest-first', 'unordered', 'shuffled'] as const)(
    '[P5 P7] a list that is %s is read completely',
    async (listOrder) => {
      const { sandbox, context, query } = await withWallet({
        transactions: 800,
        listOrder,
        pageSizeMax: 50,
      });
      for (let pass = 0; pass < 8; pass += 1) {
        if ((await syncTransactions(context, onePass({ effort: 'backfill' }))).isComplete) break;
      }
      expect((await rowsOfLedger(query)).length).toBe(sandbox.world.transactions().length);
    },
  );

  test('a pass whose lease was taken over by another pass acquires it again and continues', async () => {
    const { context, query } = await withWallet({ transactions: 600 });
    let robbed = 0;
    const client: typeof context.client = {
      ...context.client,
      async listTransactions(page, inFlight) {
        if (page.type === 'deposit' && page.pageNo === 2 && robbed++ === 0) {
          await query(`update ledger.streams set lease_owner = 'wallet-ledger of another process',
                                   lease_until = now() + interval '1 hour' where name = 'deposit'`);
        }
        return context.client.listTransactions(page, inFlight);
      },
    };
    const report = await syncTransactions({ ...context, client }, onePass({ ifLeased: 'wait' }));
    expect(robbed).toBeGreaterThan(0);
    expect(report.isComplete).toBe(true);
    const rows = await query('select last_error from ledger.streams');
    expect(rows).toEqual([{ last_error: null }, { last_error: null }]);
  });

  test('a pass that loses the database frees its list as soon as the database is back', async () => {
    const wallet = await withWallet({ transactions: 300 });
    const { gate, context, ledger } = await openBehindGate(wallet);
    const { query } = wallet;
    const client: typeof context.client = {
      ...context.client,
      async listTransactions(page, inFlight) {
        gate.shut();
        return context.client.listTransactions(page, inFlight);
      },
    };
    const leaseOwner = async () =>
      (await query(`select lease_owner from ledger.streams where name = 'deposit'`))[0]?.[
        'lease_owner'
      ];
    await expect(
      syncTransactions({ ...context, client }, onePass(), ['deposit']),
    ).rejects.toThrow();
    expect(await leaseOwner()).toEqual(expect.stringContaining(ledger.instance));
    gate.open();
    // Shows other processes that this one is alive, like the connections of a daemon.
    await ledger.pool.query('select 1');
    await vi.waitFor(async () => expect(await leaseOwner()).toBeNull(), { timeout: 60_000 });
  });

  test('details that could not be stored are due again as soon as the database returns', async () => {
    const wallet = await withWallet({ transactions: 20 });
    const { context: direct, query } = wallet;
    await syncTransactions(direct, onePass());
    const { gate, context } = await openBehindGate(wallet);
    let answers = 0;
    const client: typeof context.client = {
      ...context.client,
      async getTransaction(...asked) {
        const detail = await direct.client.getTransaction(...asked);
        // Others may still be in flight when the pass has failed and the gate is open again.
        if (answers++ === 0) gate.shut();
        return detail;
      },
    };
    const claimed = async () =>
      (await query('select from engine.detail_checks where claimed_until > now()')).length;
    await expect(syncDetails({ ...context, client }, signal)).rejects.toThrow();
    expect(await claimed()).toBeGreaterThan(0);
    gate.open();
    await vi.waitFor(async () => expect(await claimed()).toBe(0), { timeout: 60_000 });
    expect(await syncDetails(direct, signal)).toMatchObject({ isComplete: true });
  });

  test('a long claim is extended, stores what it has fetched, and releases what it has not begun', async () => {
    const { context, query } = await withWallet({ transactions: 40 });
    await syncTransactions(context, onePass());
    const count = async (condition: string) =>
      (await query(`select order_no from engine.detail_checks where ${condition}`)).length;
    let answer = (): void => undefined;
    const isAnswered = new Promise<void>((resolve) => (answer = resolve));
    const asked: string[] = [];
    const client: typeof context.client = {
      ...context.client,
      async getTransaction(orderNo, inFlight, query) {
        asked.push(orderNo);
        if (asked.length > 2) await isAnswered;
        return await context.client.getTransaction(orderNo, inFlight, query);
      },
    };
    const slow = { ...context, client, settings: { ...context.settings, concurrency: 4 } };
    const syncing = syncDetails(slow, signal);
    // Two are answered and four wait, from one claim or from two.
    await vi.waitFor(() => expect(asked.length).toBeGreaterThanOrEqual(6), { timeout: 60_000 });
    await query(`update engine.detail_checks set claimed_until = now() + interval '12 seconds'
                  where claimed_until is not null`);
    const before = await count('true');
    await vi.waitFor(
      async () => {
        expect(await count('true')).toBe(before - 2);
        expect(await count(`claimed_until > now() + interval '20 seconds'`)).toBeGreaterThanOrEqual(
          6,
        );
      },
      { timeout: 60_000, interval: 250 },
    );
    answer();
    expect(await syncing).toMatchObject({ isComplete: true });
    expect(new Set(asked).size).toBe(asked.length);
    expect(await count('claimed_until is not null')).toBe(0);
  }, 60_000);

  test('details whose claim was committed without the process learning of it are due again at once', async () => {
    const { context, query } = await withWallet({ transactions: 20 });
    await syncTransactions(context, onePass());
    const details = openDetailPort(context.ledger);
    const unheard: typeof details = {
      ...details,
      async claim(...asked) {
        const claimed = await details.claim(...asked);
        // One of two claims at the same time may find nothing.
        if (claimed.length === 0) return claimed;
        throw new Error('connection lost');
      },
    };
    await expect(syncDetailsThrough({ ...context, details: unheard }, signal)).rejects.toThrow(
      'connection lost',
    );
    expect(await query('select from engine.detail_checks where claimed_until > now()')).toEqual([]);
  });

  test('a long scan releases the list to a poll that wishes for it, and continues afterwards', async () => {
    const { context, query } = await withWallet({
      transactions: 3_000,
      latencyMs: 60,
      pageSizeMax: 10,
    });
    const scan = syncTransactions(
      context,
      onePass({ ifLeased: 'wait', sliceMs: 600_000, effort: 'backfill' }),
      ['deposit'],
    );
    const scanned = vi.fn();
    void scan.then(scanned);
    const rows = async () =>
      Number((await query('select count(*) as n from ledger.transactions'))[0]?.['n']);
    await vi.waitFor(
      async () => {
        const [row] = await query(`select lease_owner from ledger.streams where name = 'deposit'`);
        expect(row?.['lease_owner']).toBeTruthy();
      },
      { timeout: 60_000 },
    );
    await syncTransactions(context, onePass({ ifLeased: 'ask', sliceMs: 0, effort: 'daemon' }), [
      'deposit',
    ]);
    expect(scanned).not.toHaveBeenCalled();
    const atPoll = await query(`select passes from ledger.streams where name = 'deposit'`);
    expect(Number(atPoll[0]?.['passes'])).toBeGreaterThanOrEqual(2);
    expect(await scan).toMatchObject({ isComplete: true });
    expect(await rows()).toBeGreaterThan(1_000);
    expect(await query('select from engine.lease_wishes')).toEqual([]);
  }, 120_000);

  test('if nothing has changed at the service, a pass costs one request per list and writes no data row', async () => {
    const { sandbox, ledger, context } = await withWallet({ transactions: 1_000 });
    await syncTransactions(context, onePass());
    await syncAllDetails(context, signal);
    const versions = () =>
      ledger.pool.query(
        'select array_agg(xmin::text || order_no order by order_no) as seen from ledger.transactions',
      );
    const before = await versions();
    sandbox.stats.reset();
    expect((await syncTransactions(context, onePass())).isComplete).toBe(true);
    expect((await syncAllDetails(context, signal)).rowsSeen).toBe(0);
    expect(sandbox.stats.listRequests).toEqual({ deposit: 1, withdraw: 1, all: 0 });
    expect(sandbox.stats.requests['/v1/transaction/info']).toBe(0);
    expect((await versions()).rows).toEqual(before.rows);
  });

  test.each(['newest-first', 'oldest-first'] as const)(
    'new rows of a list that is %s cost their pages and one more request',
    async (listOrder) => {
      const { sandbox, context } = await withWallet({ transactions: 3_000, listOrder });
      await syncTransactions(context, onePass());
      sandbox.world.addTransactions(250, { type: 'deposit' });
      sandbox.stats.reset();
      expect(await syncTransactions(context, onePass())).toMatchObject({
        isComplete: true,
        rowsInserted: 250,
      });
      expect(sandbox.stats.listRequests.deposit).toBeLessThanOrEqual(4);
      expect(sandbox.stats.listRequests.withdraw).toBe(1);
    },
  );

  test('concurrent passes and audits of one process share the stream', async () => {
    const { context } = await withWallet({ transactions: 3_000, pageSizeMax: 20, latencyMs: 2 });
    const skipping = onePass({ ifLeased: 'skip' });
    await syncTransactions(context, skipping);
    await context.ledger.pool.query('update ledger.streams set checkpoint = null');
    const work = [1, 2, 3].flatMap(() => [
      syncTransactions(context, skipping),
      auditHistory(context, skipping.signal),
    ]);
    const ended = await Promise.allSettled(work);
    expect(ended.filter(({ status }) => status === 'rejected')).toEqual([]);
    expect((await syncTransactions(context, onePass())).isComplete).toBe(true);
  });

  test.each(['newest-first', 'oldest-first'] as const)(
    '[P17] a row that vanishes from a list that is %s is found by a search',
    async (listOrder) => {
      const { sandbox, ledger, context, query } = await withWallet({
        transactions: 6_000,
        pageSizeMax: 20,
        listOrder,
      });
      await syncTransactions(context, onePass());
      const found = await ledger.pool.query<{ order_no: string }>(
        `select order_no from ledger.transactions where stream = 'deposit' order by occurred_at offset 1234 limit 1`,
      );
      const orderNo = found.rows[0]?.order_no ?? '';
      sandbox.world.removeTransaction(orderNo);
      sandbox.stats.reset();
      expect((await syncTransactions(context, onePass())).isComplete).toBe(true);
      expect(sandbox.stats.listRequests.deposit).toBeLessThanOrEqual(3 * Math.log2(6_000 / 20));
      const rows = await query('select order_no from ledger.transactions where not is_listed');
      expect(rows).toEqual([{ order_no: orderNo }]);
      // It may return.
      await query(`update ledger.streams set checkpoint = null`);
      expect((await syncTransactions(context, onePass())).isComplete).toBe(true);
    },
  );

  test('a checkpoint that cannot be read proves nothing: the list is read from end to end', async () => {
    const { sandbox, ledger, context } = await withWallet({ transactions: 600, pageSizeMax: 20 });
    await syncTransactions(context, onePass());
    const found = await ledger.pool.query<{ order_no: string }>(
      `select order_no from ledger.transactions where stream = 'deposit' order by occurred_at offset 100 limit 1`,
    );
    const orderNo = found.rows[0]?.order_no ?? '';
    sandbox.world.removeTransaction(orderNo);
    sandbox.world.addTransactions(1, { type: 'deposit', at: Date.now() - 300 * 86_400_000 });
    await ledger.pool.query(
      `update ledger.streams set checkpoint = jsonb_set(checkpoint, '{version}', '0')`,
    );
    expect(await syncTransactions(context, onePass())).toMatchObject({
      isComplete: true,
      rowsInserted: 1,
    });
    const { rows } = await ledger.pool.query(
      'select order_no from ledger.transactions where not is_listed',
    );
    expect(rows).toEqual([{ order_no: orderNo }]);
  });

  test('a late row in the middle of the history is found by a search', async () => {
    const { sandbox, context } = await withWallet({ transactions: 6_000, pageSizeMax: 20 });
    await syncTransactions(context, onePass());
    sandbox.world.addTransactions(1, { type: 'deposit', at: Date.now() - 300 * 86_400_000 });
    sandbox.stats.reset();
    expect(await syncTransactions(context, onePass())).toMatchObject({
      isComplete: true,
      rowsInserted: 1,
    });
    expect(sandbox.stats.listRequests.deposit).toBeLessThanOrEqual(14);
  });

  test('a row whose time only its detail shows costs no second full scan, and later late rows are found by a search', async () => {
    const { sandbox, context, ledger } = await withWallet({
      transactions: 3_000,
      pageSizeMax: 20,
    });
    const { world } = sandbox;
    const timeOf = (nth: number) => world.transactions('deposit')[nth]?.time ?? 0;
    const row = { orderNo: 'undated', symbol: 'BTC', amount: '1', type: 'deposit' };
    const [at, state] = [timeOf(100) + 1, 'success'];
    const detail = { ...row, state, time: at };
    world.addRawListRow('deposit', { ...row, state, time: null }, { at, detail });
    await syncTransactions(context, onePass(), ['deposit']);
    await syncAllDetails(context, signal);
    world.addTransactions(1, { type: 'deposit', at: timeOf(700) + 1 });
    sandbox.stats.reset();
    expect(await syncTransactions(context, onePass(), ['deposit'])).toMatchObject({
      isComplete: true,
      rowsInserted: 1,
    });
    expect(sandbox.stats.listRequests.deposit).toBeLessThanOrEqual(14);
    await restartStreams(ledger.db, ['deposit']);
    sandbox.stats.reset();
    expect(await syncTransactions(context, onePass(), ['deposit'])).toMatchObject({
      isComplete: true,
    });
    const pages = Math.ceil(world.transactions('deposit').length / 20);
    expect(sandbox.stats.listRequests.deposit).toBeLessThanOrEqual(pages + 5);
  });

  test('a page size that the service refuses is halved until it is accepted', async () => {
    const { context, query } = await withWallet({
      transactions: 300,
      pageSizeMax: 30,
      pageSizeRule: 'refuse',
    });
    expect((await syncTransactions(context, onePass())).isComplete).toBe(true);
    const rows = await query(`select page_size from ledger.streams where name = 'deposit'`);
    expect(rows[0].page_size).toBe(25);
  });

  test('[P10] a service that ignores the page parameter is reported', async () => {
    const { context } = await withWallet(
      {
        transactions: 300,
        paramNames: { page: 'pageNum', size: 'pageSize', chain: 'slip44', type: 'type' },
      },
      {},
      { page: 'pageNo', size: 'pageSize', chain: 'slip44', type: 'type' },
    );
    await expect(syncTransactions(context, onePass())).rejects.toThrow(/page parameter/);
  });

  test('an answer with another page than the requested one is not accepted as the requested page', async () => {
    const { sandbox, context, query } = await withWallet({ transactions: 300 });
    const deposits = sandbox.world.transactions('deposit').length;
    sandbox.world.addTransactions(390 - deposits, { type: 'deposit' });
    // A cache between program and service that swaps two answers, once.
    let hasMixedUp = false;
    const client: typeof context.client = {
      ...context.client,
      listTransactions(query, inFlight) {
        const isMixedUp = !hasMixedUp && query.pageNo === 2;
        hasMixedUp ||= isMixedUp;
        return context.client.listTransactions(
          isMixedUp ? { ...query, pageNo: 3 } : query,
          inFlight,
        );
      },
    };
    const report = await syncTransactions({ ...context, client }, onePass(), ['deposit']);
    expect(report).toMatchObject({ isComplete: true, rowsSeen: 490 });
    expect(sandbox.stats.listRequests.deposit).toBe(6);
    const rows = await query('select count(*)::int as rows from ledger.transactions');
    expect(rows).toEqual([{ rows: 390 }]);
  });

  test('[H2 H3 H7 H9 H10 H12] the ledger ends complete although a fifth of the answers is faulty', async () => {
    const { sandbox, context, query } = await withWallet({
      transactions: 120,
      faultRate: 0.2,
      hangMs: 100,
    });
    await syncTransactions(context, onePass());
    expect((await syncAllDetails(context, signal)).isComplete).toBe(true);
    expect(await rowsOfLedger(query)).toEqual(rowsOfService(sandbox));
  });

  test('rows and checkpoint are written together or not at all', async () => {
    const { context, query } = await withWallet({ transactions: 300 });
    await query(`
      create function public.refuse() returns trigger language plpgsql
        as $$ begin raise exception 'no checkpoint today'; end $$;
      create trigger refuse before update of checkpoint on ledger.streams
        for each row execute function public.refuse()`);
    await expect(syncTransactions(context, onePass())).rejects.toThrow();
    expect(await query('select order_no from ledger.transactions')).toEqual([]);
    await query('drop trigger refuse on ledger.streams');
    const report = await syncTransactions(context, onePass());
    expect(report).toMatchObject({ isComplete: true, rowsInserted: 300 });
  });

  test('the checkpoint of a walk never runs ahead of the rows that are stored', async () => {
    const { sandbox, context, query } = await withWallet({ transactions: 10_000 });
    const deposits = sandbox.world.transactions('deposit');
    // Newest first, 4,000 rows per checkpoint: this is within the second one.
    const refused = deposits.at(-5_000)?.orderNo;
    await query(`
      create function public.refuse() returns trigger language plpgsql
        as $$ begin raise exception 'not this row today'; end $$;
      create trigger refuse before insert on ledger.transactions
        for each row when (new.order_no = '${refused}') execute function public.refuse()`);
    await expect(syncTransactions(context, onePass(), ['deposit'])).rejects.toThrow();
    const rows = await query(`
      select ledger_count::int as rows, checkpoint -> 'walk' -> 'nextPage' as page from ledger.streams`);
    expect(rows).toEqual([{ rows: 4_000, page: 41 }]);
    await query('drop trigger refuse on ledger.transactions');
    const report = await syncTransactions(context, onePass(), ['deposit']);
    expect(report).toMatchObject({ isComplete: true, rowsInserted: deposits.length - 4_000 });
  });

  test('equal counts prove nothing before the first full scan has ended', async () => {
    const { sandbox, context, query } = await withWallet({ transactions: 400, totalLag: 300 });
    const deposits = sandbox.world.transactions('deposit').length;
    sandbox.world.addTransactions(400 - deposits, { type: 'deposit' });
    await syncTransactions(context, onePass({ sliceMs: 0, ifLeased: 'skip' }), ['deposit']);
    const rows = await query(
      'select ledger_count::int, service_total::int, is_complete from ledger.streams',
    );
    expect(rows).toEqual([{ ledger_count: 100, service_total: 100, is_complete: false }]);
  });

  test('two concurrent readers end with the same ledger', async () => {
    const { sandbox, context, connectionString, query } = await withWallet({ transactions: 900 });
    const other = await openWallet(sandbox, connectionString);
    try {
      await Promise.all([
        syncTransactions(context, onePass()),
        syncTransactions(other.context, onePass()),
      ]);
      await Promise.all([syncAllDetails(context, signal), syncAllDetails(other.context, signal)]);
    } finally {
      await other.ledger.close();
    }
    expect(await rowsOfLedger(query)).toEqual(rowsOfService(sandbox));
  });

  test('[V10] a row without an order number is a reject and counts as missing, and does not cause repeated readings', async () => {
    const { sandbox, context, query } = await withWallet({ transactions: 400 });
    sandbox.world.addRawListRow('deposit', {
      symbol: 'BTC',
      amount: '1',
      type: 'deposit',
      state: 'success',
      time: Date.now(),
    });
    expect((await syncTransactions(context, onePass())).isComplete).toBe(false);
    const rows = await query('select source, order_no, field from ledger.rejects');
    expect(rows).toEqual([{ source: 'transaction-list', order_no: null, field: 'orderNo' }]);
    sandbox.stats.reset();
    expect((await syncTransactions(context, onePass())).isComplete).toBe(false);
    expect(sandbox.stats.listRequests.deposit).toBe(1);
  });

  test.each(['empty', 'last-page', 'refuse'] as const)(
    '[P12] a list that ends with a full page is read completely if the answer behind that page is %s',
    async (beyondEnd) => {
      const { sandbox, context, query } = await withWallet({
        transactions: 200,
        pageSizeMax: 50,
        beyondEnd,
      });
      const deposits = sandbox.world.transactions('deposit').length;
      sandbox.world.addTransactions(200 - deposits, { type: 'deposit' });
      const report = await syncTransactions(context, onePass());
      expect(report.isComplete).toBe(true);
      expect((await rowsOfLedger(query)).length).toBe(sandbox.world.transactions().length);
    },
  );

  test('a full scan that waits for its list between slices is one pass, and new rows do not wait for its end', async () => {
    const { sandbox, context, query } = await withWallet({ transactions: 4_000, latencyMs: 30 });
    const shown: number[] = [];
    const rowsBehind: number[] = [];
    let late = '';
    const client: typeof context.client = {
      ...context.client,
      async listTransactions(page, inFlight) {
        if (page.pageNo === 3 && late === '')
          [late = ''] = sandbox.world.addTransactions(1, { type: 'deposit' });
        const rows = await query(
          'select count(*)::int as n from ledger.transactions where order_no = $1',
          [late],
        );
        if (rows[0].n > 0) rowsBehind.push(page.pageNo);
        return await context.client.listTransactions(page, inFlight);
      },
    };
    const report = await syncTransactions(
      { ...context, client },
      onePass({
        sliceMs: 40,
        ifLeased: 'wait',
        onProgress: (_part, _done, _total, pages = 0) => shown.push(pages),
      }),
      ['deposit'],
    );
    const deposits = sandbox.world.transactions('deposit').length;
    expect(report).toMatchObject({ isComplete: true, rowsInserted: deposits });
    // It was listed while pages of the scan were still being requested.
    expect(Math.max(...rowsBehind)).toBeGreaterThan(3);
    expect(shown).toEqual([...shown].sort((a, b) => a - b));
    expect(shown.at(-1)).toBeGreaterThanOrEqual(Math.ceil(deposits / 100));
  });

  test('a full scan in slices continues where it paused, and new rows do not wait for its end', async () => {
    const { sandbox, context, query } = await withWallet({ transactions: 4_000, latencyMs: 30 });
    const sliced = () =>
      syncTransactions(context, onePass({ sliceMs: 40, ifLeased: 'skip' }), ['deposit']);
    expect((await sliced()).isComplete).toBe(false);
    const [arrived] = sandbox.world.addTransactions(1, { type: 'deposit' });
    await sliced();
    const rows = await query('select 1 from ledger.transactions where order_no = $1', [arrived]);
    expect(rows).toHaveLength(1);
    let passes = 2;
    while (!(await sliced()).isComplete) passes += 1;
    expect(passes).toBeLessThan(30);
    const pages = Math.ceil(sandbox.world.transactions('deposit').length / 100);
    expect(sandbox.stats.listRequests.deposit).toBeLessThanOrEqual(pages + 2 * passes);
  });
});
