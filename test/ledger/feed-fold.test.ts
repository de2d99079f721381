import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readEvents } from '../../src/ledger/feed/event-store.ts';
import { storeListedTransactions } from '../../src/ledger/transactions/store-listed-transactions.ts';
import { storeTransactionDetails } from '../../src/ledger/transactions/store-transaction-details.ts';
import { numberEvents } from '../support/number-events.ts';
import { detailed, listed } from '../support/transaction-rows.ts';
import { withLedger } from '../support/with-ledger.ts';

const opened = await withLedger();
const { ledger, query } = opened;
const { db } = ledger;
/** Both have orders with the same numbers. */
const wallets = ['main', 'w2'];

type Facts = Record<string, unknown>;
type Tables = Map<string, Facts>;
/** The tables, and the number of the last event that they include. */
type Moment = { head: number; tables: Tables };

const orderNos = ['a', 'b', 'c', 'd'];
const row = fc.record({
  orderNo: fc.constantFrom(...orderNos),
  state: fc.constantFrom('pending', 'success', 'failed', 'odd'),
  amount: fc.constantFrom('1', '1.0', '1.00', '-2e-3', '99999999999999999999.123456789012345678'),
  txHash: fc.constantFrom(null, '0x1', '0x2'),
});
const action = fc.oneof(
  fc.record({ kind: fc.constant('list' as const), rows: fc.array(row, { maxLength: 4 }) }),
  fc.record({
    kind: fc.constant('detail' as const),
    rows: fc.array(row, { maxLength: 3 }),
    fee: fc.constantFrom('0', '0.10'),
    confirmNum: fc.integer({ min: 0, max: 3 }),
  }),
  fc.record({ kind: fc.constant('walk' as const) }),
  fc.record({
    kind: fc.constant('hand' as const),
    orderNo: fc.constantFrom(...orderNos),
    isListed: fc.boolean(),
  }),
);

const step = fc.record({ wallet: fc.constantFrom(...wallets), action });

async function take(
  { wallet, action: one }: typeof step extends fc.Arbitrary<infer T> ? T : never,
  observation: number,
) {
  const own = ledger.forWallet(wallet).db;
  if (one.kind === 'walk')
    await query(`insert into ledger.streams (wallet, name, last_walk_at) values ('${wallet}', 'deposit', now())
                 on conflict (wallet, name) do update set last_walk_at = now()`);
  if (one.kind === 'hand')
    await ledger.pool.query(
      'update ledger.transactions set is_listed = $3 where wallet = $1 and order_no = $2',
      [wallet, one.orderNo, one.isListed],
    );
  if (one.kind === 'list')
    await storeListedTransactions(
      own,
      'deposit',
      one.rows.map((each) => listed({ ...each, observation })),
    );
  if (one.kind === 'detail')
    await storeTransactionDetails(
      own,
      one.rows.map((each) =>
        detailed({
          ...each,
          observation,
          fee: one.fee,
          feeSymbol: 'ETH',
          confirmNum: one.confirmNum,
        }),
      ),
    );
}

async function readTables(): Promise<Tables> {
  const rows = await query<{ id: string; facts: Facts }>(`
    select wallet || '/' || order_no as id, json_build_object('order_no', order_no, 'stream', stream, 'request_id', request_id, 'symbol', symbol,
      'tx_hash', tx_hash, 'from_address', from_address, 'to_address', to_address, 'amount', amount::text, 'type', type,
      'state', state, 'confirm_num', confirm_num, 'fee', fee::text, 'fee_symbol', fee_symbol, 'occurred_at', occurred_at,
      'is_final', is_final, 'is_success', is_success, 'is_listed', is_listed, 'also_listed_in', also_listed_in,
      'is_backfilled', is_backfilled, 'first_seen_at', first_seen_at, 'changed_at', changed_at, 'extra', extra) as facts
      from ledger.transactions`);
  return new Map(rows.map(({ id, facts }) => [id, facts]));
}

async function moment(): Promise<Moment> {
  await numberEvents(db);
  const [last] = await query<{ head: number }>('select ledger.events_head()::int as head');
  return { head: last?.head ?? 0, tables: await readTables() };
}

/** Applies the events after `from` to its tables, as a consumer does. */
async function fold(from: Moment, head: number): Promise<Tables> {
  const folded = new Map(from.tables);
  for (const { seq, wallet, kind, key, data } of await readEvents(db, from.head, 10_000)) {
    if (seq > head || !kind.startsWith('transaction.')) continue;
    // A chain that becomes known later causes no event.
    const { reference: _, changed: __, slip44: ___, contract_address: ____, ...facts } = data;
    folded.set(`${wallet}/${key}`, facts);
  }
  return folded;
}

/** Rows of the first full scan, and fields that their first detail fills, cause no events. */
function told(tables: Tables, known: Tables): unknown[] {
  return [...tables]
    .filter(([key, facts]) => !facts['is_backfilled'] || known.has(key))
    .map(([id, { changed_at, fee, fee_symbol, confirm_num, ...facts }]) =>
      facts['is_backfilled']
        ? { id, ...facts }
        : { id, changed_at, fee, fee_symbol, confirm_num, ...facts },
    )
    .sort((a, b) => (a.id < b.id ? -1 : 1));
}

test('applying the events after any moment to the tables of that moment gives the tables of any later moment', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 14 }), async (steps) => {
      await opened.clear();
      await query('truncate engine.outbox, ledger.events');
      await query(`insert into ledger.final_states (wallet, state, is_success)
                   select w, s, s = 'success' from unnest(array['main', 'w2']) w, unnest(array['success', 'failed']) s`);
      const moments = [await moment()];
      for (const [index, one] of steps.entries()) {
        await take(one, index + 1);
        moments.push(await moment());
      }
      for (const [index, from] of moments.entries())
        for (const to of moments.slice(index + 1))
          expect(told(await fold(from, to.head), from.tables)).toEqual(
            told(to.tables, from.tables),
          );
    }),
    { numRuns: 15 },
  );
}, 300_000);
