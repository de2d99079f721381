import { beforeEach, expect, test, vi } from 'vitest';
import { silentLog } from '../../src/kernel/log.ts';
import { acceptMove, acknowledgeMoves } from '../../src/ledger/accept-move.ts';
import { takeAddress } from '../../src/ledger/addresses/pool-store.ts';
import { judgeStored } from '../../src/ledger/addresses/refused-addresses.ts';
import { noticeForeign, readAway, requireHomeOfRequest } from '../../src/ledger/home-store.ts';
import { readMoves } from '../../src/ledger/move-store.ts';
import { settleHome, shareHome } from '../../src/sync/settle-home.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger, query, clear } = await withLedger();
const second = ledger.forWallet('w2');
const settings = { onMove: 'heal' as const };

beforeEach(async () => {
  await clear();
  await query('delete from ledger.stream_proofs');
  for (const wallet of ['main', 'w2'])
    await query(`
      insert into ledger.pools (wallet, slip44, threshold, target) values ('${wallet}', 60, 1, 2);
      insert into ledger.addresses (wallet, slip44, address, status, generated_by, first_seen_at)
        values ('${wallet}', 60, '0x1', 'available', 1, now()), ('${wallet}', 60, '0x2', 'assigned', 1, now());
      insert into ledger.streams (wallet, name, is_backed) values ('${wallet}', 'addresses:60', true);
      insert into ledger.address_requests (wallet, slip44, num, state, requested_at)
        values ('${wallet}', 60, 5, 'sent', now())`);
});

const statuses = () =>
  query(`select wallet, string_agg(status, ' ' order by address) as of
    from ledger.addresses group by wallet order by wallet`);

test('a move is healed for all wallets at once, by the first one to notice it', async () => {
  await query(`insert into ledger.transactions (wallet, order_no, stream, type, state, observation)
    values ('main', 'd', 'deposit', 'deposit', 'pending', 1), ('w2', 'd', 'deposit', 'deposit', 'pending', 1);
    delete from engine.detail_checks; select engine.disturb_home('a snapshot was put back')`);
  await Promise.all(
    [second, ledger].map((each) => settleHome({ ledger: each, log: silentLog, settings })),
  );
  expect(await statuses()).toEqual([
    { wallet: 'main', of: 'foreign assigned' },
    { wallet: 'w2', of: 'foreign assigned' },
  ]);
  expect(await query('select wallet, state from ledger.address_requests order by wallet')).toEqual([
    { wallet: 'main', state: 'done' },
    { wallet: 'w2', state: 'done' },
  ]);
  expect(
    await query(`select from ledger.streams where name like 'addresses:%' and is_backed`),
  ).toEqual([]);
  expect(await query('select wallet, order_no from engine.detail_checks order by 1')).toEqual([
    { wallet: 'main', order_no: 'd' },
    { wallet: 'w2', order_no: 'd' },
  ]);
  expect(await readMoves(second.db)).toMatchObject([{ setAside: 2, closedRequests: 2 }]);
  expect(await takeAddress(second.db, 60, 'customer')).toBeNull();
  expect(await second.transaction((db) => acceptMove(db, ['main', 'w2']))).toBe(2);
  expect(await takeAddress(ledger.db, 60, 'customer')).toBe('0x1');
  expect(await takeAddress(second.db, 60, 'another')).toBe('0x1');
});

test('an operator’s statement about one wallet leaves the addresses of the others set aside', async () => {
  await query(`select engine.disturb_home('a snapshot was put back')`);
  expect(await second.transaction((db) => acceptMove(db, ['w2']))).toBe(1);
  await acknowledgeMoves(second.db, ['w2']);
  expect(await statuses()).toEqual([
    { wallet: 'main', of: 'foreign assigned' },
    { wallet: 'w2', of: 'available assigned' },
  ]);
  expect(await readMoves(ledger.db)).toMatchObject([{ waitingFor: ['main'] }]);
  // The move is closed for w2: addresses that its operator has not confirmed stay set aside.
  await query(
    `update ledger.addresses set status = 'foreign', set_aside_epoch = 1 where wallet = 'w2' and status = 'available'`,
  );
  expect(await ledger.transaction((db) => acceptMove(db, ['main', 'w2']))).toBe(1);
  await acknowledgeMoves(ledger.db, ['main']);
  expect(await readMoves(ledger.db)).toEqual([]);
  expect(await statuses()).toEqual([
    { wallet: 'main', of: 'available assigned' },
    { wallet: 'w2', of: 'foreign assigned' },
  ]);
});

test('a resting wallet keeps its addresses set aside, and no move waits for it', async () => {
  await query(`select engine.disturb_home('a snapshot was put back');
    insert into ledger.wallets (wallet, base_url, key_fingerprint, first_seen_at, is_resting)
    values ('w2', 'https://a', 'k', now(), true)`);
  expect(await ledger.transaction((db) => acceptMove(db, ['main']))).toBe(1);
  await acknowledgeMoves(ledger.db, ['main']);
  expect(await readMoves(ledger.db)).toEqual([]);
  expect(await statuses()).toEqual([
    { wallet: 'main', of: 'available assigned' },
    { wallet: 'w2', of: 'foreign assigned' },
  ]);
});

test('the session stays with its wallet while a move of all wallets is healed', async () => {
  await query(`select engine.disturb_home('a snapshot was put back')`);
  await settleHome({ ledger: second, log: silentLog, settings });
  expect((await second.pool.query('select engine.wallet() as of')).rows).toEqual([{ of: 'w2' }]);
  expect((await ledger.pool.query('select engine.wallet() as of')).rows).toEqual([{ of: 'main' }]);
});

test('the epoch of a request applies to the wallet that sent it', async () => {
  const [open] = await query<{ id: string }>(
    `select id from ledger.address_requests where wallet = 'w2'`,
  );
  const id = Number(open?.id);
  await second.transaction((db) => requireHomeOfRequest(db, { id, slip44: 60, owner: null }));
  await expect(
    ledger.transaction((db) => requireHomeOfRequest(db, { id, slip44: 60, owner: null })),
  ).rejects.toMatchObject({
    code: 'database-moved',
  });
});

test('foreign addresses of one wallet are no evidence about the list of another one', async () => {
  await query(`
    delete from ledger.address_requests;
    insert into ledger.stream_proofs (wallet, name, is_complete, observed_at, ledger_count)
      values ('main', 'addresses:60', true, now() + interval '1 minute', 2);
    insert into ledger.addresses (wallet, slip44, address, status, first_seen_at)
      values ('w2', 60, '0x3', 'foreign', now() + interval '1 hour')`);
  await noticeForeign(ledger.db, 60);
  await noticeForeign(second.db, 60);
  expect(await readAway(ledger.db)).toBeNull();
  await query(`update ledger.addresses set wallet = 'main' where address = '0x3'`);
  await noticeForeign(second.db, 60);
  expect(await readAway(ledger.db)).toBeNull();
  await noticeForeign(ledger.db, 60);
  expect(await readAway(second.db)).toContain('generated elsewhere');
});

test('a refused address stops the pool of its own wallet', async () => {
  await query(`update ledger.addresses set address = 'no address', form = null where address = '0x1' and wallet = 'w2';
    update ledger.addresses set form = 'plain' where wallet = 'main'`);
  await judgeStored(second);
  expect(
    await query('select wallet, refused_at is not null as stopped from ledger.pools order by 1'),
  ).toEqual([
    { wallet: 'main', stopped: false },
    { wallet: 'w2', stopped: true },
  ]);
});

test('the wallets of a process check once a second whether the database is at home, and once more if it is not', async () => {
  const asked = vi.spyOn(ledger.db, 'execute');
  const now = vi.spyOn(performance, 'now').mockReturnValue(0);
  const sharedHome = shareHome(ledger);
  const away = async () => (await sharedHome.read()).away;
  const settle = (each: typeof ledger) =>
    settleHome({ ledger: each, log: silentLog, settings, sharedHome });
  try {
    expect(await Promise.all([away(), away()])).toEqual([null, null]);
    await settle(second);
    expect(asked).toHaveBeenCalledTimes(1);
    await query(`select engine.disturb_home('a snapshot was put back')`);
    now.mockReturnValue(999);
    expect(await away()).toBeNull();
    now.mockReturnValue(1_000);
    await settle(second);
    expect(await away()).toBeNull();
    expect(await readAway(ledger.db)).toBeNull();
  } finally {
    now.mockRestore();
    asked.mockRestore();
  }
});
