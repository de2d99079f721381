import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { beforeEach, expect, test } from 'vitest';
import {
  acceptWallet,
  claimWallet,
  markResting,
  readWalletIdentity,
  requireWallet,
} from '../../src/ledger/wallet-identity.ts';
import { until } from '../support/until.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger, connect, connectionString, query } = await withLedger();
const { db } = ledger;
beforeEach(() => query('delete from ledger.wallets'));

const baseUrl = 'https://wallet.example';
const eu = { baseUrl, keyFingerprint: 'a' };
const us = { baseUrl, keyFingerprint: 'b' };
const taken = 'this key is already wallet "eu" of this ledger';

test('each name has its own identity', async () => {
  await claimWallet(db, 'eu', eu);
  await claimWallet(db, 'us', us);
  expect(await readWalletIdentity(db, 'eu')).toEqual(eu);
  expect(await readWalletIdentity(db, 'us')).toEqual(us);
  expect(await readWalletIdentity(db, 'main')).toBeNull();
  expect(await requireWallet(db, 'us', us)).toBe(true);
  expect(await requireWallet(db, 'asia', { baseUrl, keyFingerprint: 'c' })).toBe(false);
  await expect(requireWallet(db, 'us', { ...us, keyFingerprint: 'c' })).rejects.toMatchObject({
    code: 'settings',
  });
});

test('a named key gets no second name; the same key at another service is another wallet', async () => {
  await claimWallet(db, 'eu', eu);
  await expect(claimWallet(db, 'us', eu)).rejects.toThrow(taken);
  await expect(requireWallet(db, 'us', eu)).rejects.toThrow(taken);
  await expect(acceptWallet(db, 'us', eu)).rejects.toThrow(taken);
  await claimWallet(db, 'us', { ...eu, baseUrl: 'https://other.example' });
  await expect(acceptWallet(db, 'us', eu)).rejects.toThrow(taken);
});

test('no wallet is added while a version that supports only one wallet is connected', async () => {
  const earlier = new pg.Client({
    connectionString,
    application_name: `wallet-ledger ${randomUUID()}`,
  });
  await earlier.connect();
  const [session] = (await earlier.query('select pg_backend_pid() as pid')).rows;
  const refused = {
    code: 'earlier-version',
    exitCode: 1,
    message: expect.stringMatching(`session ${session.pid}\\b`),
  };
  await expect(claimWallet(db, 'eu', eu)).rejects.toMatchObject(refused);
  expect(await readWalletIdentity(db, 'eu')).toBeNull();
  await claimWallet(db, 'main', us);
  await earlier.end();
  const isGone = () => query(`select from pg_stat_activity where pid = ${session.pid}`);
  await until(async () => (await isGone()).length === 0);
  await claimWallet(db, 'eu', eu);
});

test('one of several processes that claim one key under different names succeeds', async () => {
  const names = ['w1', 'w2', 'w3', 'w4'];
  const claims = await Promise.allSettled(names.map((name) => claimWallet(connect().db, name, eu)));
  expect(claims.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  expect(await query('select from ledger.wallets')).toHaveLength(1);
});

test('a rotated key changes the identity of its own wallet only', async () => {
  await claimWallet(db, 'eu', eu);
  await claimWallet(db, 'us', us);
  await acceptWallet(db, 'us', { ...us, keyFingerprint: 'c' });
  expect(await readWalletIdentity(db, 'eu')).toEqual(eu);
  expect(await readWalletIdentity(db, 'us')).toEqual({ ...us, keyFingerprint: 'c' });
});

test('wallets that are not named are resting, and only changes are written', async () => {
  await claimWallet(db, 'eu', eu);
  await claimWallet(db, 'us', us);
  const rows = () =>
    query<{ wallet: string; is_resting: boolean; xmin: string }>(
      'select wallet, is_resting, xmin::text from ledger.wallets order by wallet',
    );
  const before = await rows();
  expect(before.map((row) => row.is_resting)).toEqual([false, false]);
  await markResting(db, ['us', 'new']);
  const after = await rows();
  expect(after.map((row) => row.is_resting)).toEqual([true, false]);
  expect(after[1]).toEqual(before[1]);
  await markResting(db, ['us']);
  expect(await rows()).toEqual(after);
  await markResting(db, ['eu', 'us']);
  expect((await rows()).map((row) => row.is_resting)).toEqual([false, false]);
});
