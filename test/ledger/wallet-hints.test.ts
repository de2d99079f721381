import { beforeEach, expect, test } from 'vitest';
import {
  endLook,
  lookDueIn,
  readHintedSubjects,
  storeHint,
  takeLook,
} from '../../src/ledger/hint-store.ts';
import { markResting } from '../../src/ledger/wallet-identity.ts';
import { until } from '../support/until.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger, query, clear } = await withLedger();
const second = ledger.forWallet('w2');

beforeEach(async () => {
  await clear();
  await query(`delete from engine.hints; delete from engine.hint_turns; delete from ledger.wallets;
    insert into ledger.wallets (wallet, base_url, key_fingerprint, first_seen_at)
      values ('main', 'http://a', 'a', now()), ('w2', 'http://a', 'b', now())`);
});

const hinted = () =>
  query(`select wallet, string_agg(subject || coalesce(' ' || order_no, ''), ', ' order by subject, order_no) as of
    from engine.hints group by wallet order by wallet`);
const lists = 'deposit, withdraw';

test('a hint without a wallet is for all wallets that are not resting; one with a wallet is for that one', async () => {
  await query(`select ledger.hint('{7}')`);
  const everywhere = ['main', 'w2'].map((wallet) => ({
    wallet,
    of: 'deposit, details 7, withdraw',
  }));
  expect(await hinted()).toEqual(everywhere);
  await query('delete from engine.hints');
  await query(`select ledger.hint('w2', '{8}')`);
  expect(await hinted()).toEqual([{ wallet: 'w2', of: 'deposit, details 8, withdraw' }]);
  await query('delete from engine.hints');
  await markResting(ledger.db, ['w2']);
  await query('select ledger.hint()');
  expect(await hinted()).toEqual([{ wallet: 'w2', of: lists }]);
  await expect(query(`select ledger.hint('eu', '{}')`)).rejects.toThrow(
    `there is no wallet named 'eu': the wallets are main, w2`,
  );
});

test('hints and reads of one wallet do not change those of another', async () => {
  await storeHint(second.db, ['7']);
  expect(await readHintedSubjects(ledger.db, ['main'])).toEqual([]);
  const found = await readHintedSubjects(ledger.db, ['main', 'w2']);
  expect(found.map(({ wallet, subject }) => `${wallet} ${subject}`).sort()).toEqual([
    'w2 deposit',
    'w2 details',
    'w2 withdraw',
  ]);
  await storeHint(ledger.db, []);
  expect(await hinted()).toEqual([
    { wallet: 'main', of: lists },
    { wallet: 'w2', of: 'deposit, details 7, withdraw' },
  ]);
  const ids = await takeLook(second.db, 'deposit');
  expect(ids).toHaveLength(1);
  await endLook(second.db, 'deposit', { ids, fruitless: 30 });
  await storeHint(second.db, []);
  expect(await lookDueIn(second.db, 'deposit')).toBeGreaterThan(20_000);
  expect(await lookDueIn(ledger.db, 'deposit')).toBe(0);
  expect(await takeLook(ledger.db, 'deposit')).toHaveLength(1);
});

test('each wallet has its own limit of waiting orders', async () => {
  const many = Array.from({ length: 1_500 }, (_, nth) => `order-${nth}`);
  await storeHint(ledger.db, many);
  await storeHint(second.db, ['7']);
  expect(
    await query(`select wallet, count(*)::int as orders from engine.hints
      where subject = 'details' group by wallet order by wallet`),
  ).toEqual([
    { wallet: 'main', orders: 998 },
    { wallet: 'w2', orders: 1 },
  ]);
});

test('the notification contains the wallet', async () => {
  const listener = await ledger.pool.connect();
  const names: (string | undefined)[] = [];
  listener.on('notification', ({ payload }) => names.push(payload));
  try {
    await listener.query('listen ledger_hints');
    await query(`select ledger.hint('w2', '{}')`);
    await query(`select ledger.hint('{9}')`);
    await until(async () => names.length === 3);
    expect(names).toEqual(['w2', 'main', 'w2']);
  } finally {
    await listener.query('unlisten *');
    listener.removeAllListeners('notification');
    listener.release();
  }
});
