import { beforeEach, expect, test } from 'vitest';
import { storeGenerated } from '../../src/ledger/addresses/address-answer-store.ts';
import { storeListedAddresses } from '../../src/ledger/addresses/address-store.ts';
import { adoptForeign } from '../../src/ledger/addresses/adopt-store.ts';
import { mirrorPools, takeAddress } from '../../src/ledger/addresses/pool-store.ts';
import { resumePool } from '../../src/ledger/addresses/refused-addresses.ts';
import { resolveRequest } from '../../src/ledger/addresses/resolve-request.ts';
import { migrateLedger } from '../../src/ledger/connection/migrate-ledger.ts';
import { migrateBefore } from '../support/migrate-before.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger, query, clear } = await withLedger();
const old = await withLedger({ isMigrated: false });
beforeEach(clear);
beforeEach(() => mirrorPools(ledger, [{ slip44: 0, threshold: 5, target: 10 }]));

const good = ['bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4', '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa'];
const wrongLetter = 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t5';
const invented = ['bc1qinvented0001', 'bc1qinvented0002', 'bc1qinvented0003'];

const list = (addresses: string[], isChainShown = true) =>
  ledger.transaction((db) => storeListedAddresses(db, 0, addresses, { isChainShown }));
const rows = () =>
  query(`select address, status, form, refused is not null as refused
           from ledger.addresses order by first_seen_at, address collate "C"`);
const stopped = async () =>
  (await query(`select refused_at is not null as stopped from ledger.pools`))[0]?.['stopped'];
const take = (reference: string) => takeAddress(ledger.db, 0, reference);

/** A request that the service answers with these addresses. */
async function generate(addresses: string[]): Promise<number> {
  const [request] = await query<{ id: string }>(`
    insert into ledger.address_requests (slip44, num, state, requested_at)
    values (0, ${addresses.length}, 'sent', now() - interval '1 second') returning id`);
  return await ledger.transaction((db) => storeGenerated(db, Number(request?.id), addresses));
}

test('a generated text that is not an address does not join a pool and stops the chain', async () => {
  expect(await generate([...good, wrongLetter])).toBe(2);
  expect(await rows()).toEqual([
    { address: good[1], status: 'available', form: 'proven', refused: false },
    { address: good[0], status: 'available', form: 'proven', refused: false },
    { address: wrongLetter, status: 'foreign', form: null, refused: true },
  ]);
  expect(await stopped()).toBe(true);
  const rejects = await query('select field, payload::jsonb as payload from ledger.rejects');
  expect(rejects).toMatchObject([
    { field: 'address', payload: { address: wrongLetter, slip44: 0 } },
  ]);
  await expect(
    query(`update ledger.addresses set status = 'available' where refused is not null`),
  ).rejects.toThrow('addresses_sound');
});

test('a listed text that is not an address is kept and refused once, and the operator can resume the chain', async () => {
  await list([...good, wrongLetter]);
  expect(await stopped()).toBe(true);
  await ledger.transaction((db) => resumePool(db, 0));
  await list([...good, wrongLetter]);
  expect(await stopped()).toBe(false);
  expect(await query('select resolved_at is null as open from ledger.rejects')).toEqual([
    { open: false },
  ]);
});

test('an address that was listed before the chain parameter was proven is checked before it becomes available', async () => {
  await list([...good, wrongLetter, ...invented], false);
  expect([await stopped(), await query('select from ledger.rejects')]).toEqual([false, []]);
  expect(await ledger.transaction((db) => adoptForeign(db, 0, null))).toBe(2);
  const refused = (await rows()).filter((row) => row['refused']);
  expect(refused.map(({ address }) => address)).toEqual([...invented, wrongLetter].sort());
});

test('after a lost answer no text that is not an address joins the pool, although the list shows it', async () => {
  const [request] = await query<{ id: string }>(`
    insert into ledger.address_requests (slip44, num, state, requested_at)
    values (0, 3, 'unknown', now() - interval '1 second') returning id`);
  await list([...good, wrongLetter], false);
  const joined = await ledger.transaction((db) => resolveRequest(db, Number(request?.id)));
  expect([joined, await stopped()]).toEqual([2, true]);
  expect(await query('select received from ledger.address_requests')).toEqual([{ received: 2 }]);
});

test('addresses in a format of the service are accepted until one of them has the format of the chain', async () => {
  expect(await generate(invented)).toBe(3);
  expect(await stopped()).toBe(false);
  const handedOut = await take('anna');
  expect(await generate([good[0] ?? ''])).toBe(1);
  expect(await stopped()).toBe(true);
  const still = await query(`select address from ledger.addresses where status = 'available'`);
  expect(still).toEqual([{ address: good[0] }]);
  // A customer who has one of the others gets another one, and keeps it.
  expect(handedOut).not.toBe(good[0]);
  expect(await take('anna')).toBe(good[0]);
  expect(await take('anna')).toBe(good[0]);
  expect(await take('ben')).toBeNull();
});

test('the addresses of an earlier version are checked in the upgrade', async () => {
  await migrateBefore(old.ledger, 'refused_addresses');
  await old.query(`
    insert into ledger.pools (slip44, threshold, target) values (0, 5, 10);
    insert into ledger.addresses (slip44, address, status, assigned_to, assigned_no, assigned_at, generated_by, first_seen_at) values
      (0, '${good[0]}', 'available', null, null, null, 1, '2026-01-01'),
      (0, '${wrongLetter}', 'available', null, null, null, 1, '2026-01-01'),
      (0, 'null', 'assigned', 'anna', 1, '2026-01-02', 1, '2026-01-01'),
      (0, '0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed', 'foreign', null, null, null, null, '2026-01-01')`);
  await migrateLedger(old.ledger);
  expect(
    await old.query(`select address, status, form, refused is not null as refused
                       from ledger.addresses order by address collate "C"`),
  ).toEqual([
    {
      address: '0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed',
      status: 'foreign',
      form: 'misfit',
      refused: false,
    },
    { address: good[0], status: 'available', form: 'proven', refused: false },
    { address: wrongLetter, status: 'foreign', form: null, refused: true },
    { address: 'null', status: 'assigned', form: null, refused: true },
  ]);
  const problems = await old.query(
    `select what, cure from ledger.problems where name = 'address_refused'`,
  );
  expect(problems[0]?.['what']).toContain('2 texts');
  expect(problems[0]?.['what']).toContain('1 of them handed out');
  expect(await takeAddress(old.ledger.db, 0, 'anna')).toBe(good[0]);
});
