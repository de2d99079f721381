import { beforeEach, expect, test } from 'vitest';
import { syncTransactions } from '../../src/sync/streams/sync-transactions.ts';
import { withListedLedger } from '../support/with-listed-ledger.ts';
import { onePass } from '../support/with-wallet.ts';

const { query, clear, service, context } = await withListedLedger({ looksMs: [0] });
const pageSize = 10;
const orders = ['newest-first', 'oldest-first'] as const;
const efforts = ['backfill', 'command'] as const;

type Row = { orderNo: string; type: 'deposit' | 'withdraw'; time: number };

/** Rows as both lists show them; each list shows those of its type. */
let rows: Row[];

function row(nth: number, type: Row['type'] = nth % 3 === 2 ? 'withdraw' : 'deposit'): Row {
  return { orderNo: `order-${nth}`, type, time: Date.UTC(2026, 0, 1) + nth * 600_000 };
}

/** Shows the rows, all of them as they are in the lists of the ledger. */
function show(order: (typeof orders)[number], shown: Row[]): void {
  rows = shown;
  const sign = order === 'newest-first' ? -1 : 1;
  for (const type of ['deposit', 'withdraw'] as const) {
    const listed = rows.filter((each) => each.type === type);
    listed.sort((a, b) => sign * (a.time - b.time));
    const texts = listed.map((each) => JSON.stringify({ amount: '1', state: 'success', ...each }));
    service.lists.set(type, texts);
  }
}

async function expectExact(): Promise<void> {
  const held = await query(`select order_no, stream, type from ledger.transactions
                             where is_listed order by order_no collate "C"`);
  const wanted = rows.map(({ orderNo, type }) => ({ order_no: orderNo, stream: type, type }));
  expect(held).toEqual(wanted.sort((a, b) => (a.order_no < b.order_no ? -1 : 1)));
  expect(await query('select name, is_complete from ledger.streams order by name')).toEqual([
    { name: 'deposit', is_complete: true },
    { name: 'withdraw', is_complete: true },
  ]);
}

const run = (effort: (typeof efforts)[number] = 'backfill') =>
  syncTransactions(context, onePass({ effort }));

beforeEach(async () => {
  await clear();
  await query(`insert into ledger.final_states values ('success', true)`);
  service.twist = (page, { list, pageNo }) => {
    const all = service.lists.get(list) ?? [];
    return { ...page, pageSize, rows: all.slice((pageNo - 1) * pageSize, pageNo * pageSize) };
  };
});

const history = Array.from({ length: 150 }, (_, nth) => row(nth));
const asWithdrawal = (shown: Row[], nth: number) =>
  shown.map((each) =>
    each.orderNo === `order-${nth}` ? { ...each, type: 'withdraw' as const } : each,
  );

test.each(orders)(
  'an old deposit that becomes a withdrawal has the type of the list that shows it (%s)',
  async (order) => {
    show(order, history);
    expect(await run()).toMatchObject({ isComplete: true });
    show(order, asWithdrawal(history, 60));
    expect(await run('command')).toMatchObject({ isComplete: true });
    await expectExact();
  },
);

test.each(orders.flatMap((order) => efforts.map((effort) => [order, effort] as const)))(
  '[P6] a row in both lists is searched for if late rows make the counts equal (%s, %s)',
  async (order, effort) => {
    show(order, history);
    expect(await run()).toMatchObject({ isComplete: true });
    const left = asWithdrawal(history, 60).filter(({ orderNo }) => orderNo !== 'order-30');
    const late = [20, 70].map((nth) => ({
      ...row(nth, 'deposit'),
      orderNo: `order-late-${nth}`,
      time: row(nth).time + 1,
    }));
    show(order, [...left, ...late]);
    expect(await run(effort)).toMatchObject({ isComplete: true });
    await expectExact();
  },
);
