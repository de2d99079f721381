import { randomBytes } from 'node:crypto';
import { beforeEach, expect, test } from 'vitest';
import { checkNewAddresses } from '../../src/ledger/addresses/address-store.ts';
import { takeAddress, takeFurtherAddress } from '../../src/ledger/addresses/pool-store.ts';
import type { Ledger } from '../../src/ledger/connection/connect-ledger.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger, connect, query, clear } = await withLedger();
beforeEach(clear);

const fill = (slip44: number, from: number, to: number, status = 'available') =>
  query(`insert into ledger.addresses (slip44, address, status, generated_by, first_seen_at)
    select ${slip44}, '0xA' || n, '${status}', 1, now() + n * interval '1 second' from generate_series(${from}, ${to}) n`);
const take = (slip44: number, reference: string | null, from: Ledger = ledger) =>
  takeAddress(from.db, slip44, reference);
const holders = () =>
  query(`select slip44, address, status, assigned_to as "to" from ledger.addresses
          where assigned_at is not null order by slip44, address`);

test('an address that was taken on one chain belongs to the same customer on all chains', async () => {
  await fill(60, 1, 2);
  await fill(56, 1, 2);
  expect(await take(60, 'anna')).toBe('0xA1');
  expect(await take(56, 'ben')).toBe('0xA2');
  expect(await take(56, 'anna')).toBe('0xA1');
  expect(await take(60, 'ben')).toBe('0xA2');
  expect([await take(60, 'carl'), await take(56, null)]).toEqual([null, null]);
  expect(await holders()).toEqual([
    { slip44: 56, address: '0xA1', status: 'assigned', to: 'anna' },
    { slip44: 56, address: '0xA2', status: 'assigned', to: 'ben' },
    { slip44: 60, address: '0xA1', status: 'assigned', to: 'anna' },
    { slip44: 60, address: '0xA2', status: 'assigned', to: 'ben' },
  ]);
});

test('an address that was taken without a reference is handed out to nobody else on any chain', async () => {
  await fill(60, 1, 1);
  await fill(56, 1, 1);
  expect(await take(60, null)).toBe('0xA1');
  expect([await take(56, null), await take(56, 'anna')]).toEqual([null, null]);
});

test('a row that arrives later, on another chain and in another spelling, is not handed out to another customer', async () => {
  await fill(60, 1, 1);
  expect(await take(60, 'anna')).toBe('0xA1');
  await query(`insert into ledger.addresses (slip44, address, status, generated_by, first_seen_at)
    values (56, 'a1', 'available', 2, now()), (57, '0xa1', 'available', 2, now())`);
  expect(await take(56, 'ben')).toBeNull();
  await checkNewAddresses(ledger.db);
  expect(
    await query('select slip44, status, assigned_to as "to" from ledger.addresses order by 1'),
  ).toEqual([56, 57, 60].map((slip44) => ({ slip44, status: 'assigned', to: 'anna' })));
  expect(await take(57, 'anna')).toBe('0xa1');
});

test('concurrent callers on three chains with the same addresses cause no deadlock, and no address goes to two of them', async () => {
  const chains = [60, 56, 57];
  for (const slip44 of chains) await fill(slip44, 1, 400);
  const callers = [ledger, connect(), connect()];
  const taken: { reference: string; address: string | null }[] = [];
  await Promise.all(
    Array.from({ length: 18 }, async (_, lane) => {
      for (let call = 0; call < 15; call += 1) {
        // Two lanes share each reference, on two chains.
        const reference = `customer-${lane % 9}-${call}`;
        const slip44 = chains[(lane + call + Math.floor(lane / 9)) % 3] ?? 60;
        const address = await take(slip44, reference, callers[lane % 3]);
        taken.push({ reference, address });
      }
    }),
  );
  expect(taken.filter(({ address }) => address === null)).toEqual([]);
  const owners = new Map<string, Set<string>>();
  for (const { reference, address } of taken)
    owners.set(String(address), (owners.get(String(address)) ?? new Set()).add(reference));
  expect([...owners.values()].filter((references) => references.size > 1)).toEqual([]);
  const stored = await query(`select address_key from ledger.addresses where assigned_at is not null
    group by address_key having count(distinct assigned_to) > 1 or count(*) < 3`);
  expect(stored).toEqual([]);
}, 60_000);

test('the last address of two chains goes to one of two concurrent callers', async () => {
  for (let round = 0; round < 20; round += 1) {
    await clear();
    await fill(60, 1, 1);
    await fill(56, 1, 1);
    const both = await Promise.all([take(60, 'anna'), take(56, 'ben', connect())]);
    expect(both.filter((address) => address !== null)).toEqual(['0xA1']);
  }
}, 60_000);

test('each call for a further address gives another one, and the first address stays the first', async () => {
  await fill(60, 1, 4);
  const further = () => takeFurtherAddress(ledger.db, 60, 'anna');
  expect(await take(60, 'anna')).toBe('0xA1');
  expect(new Set(await Promise.all([further(), further(), further()]))).toEqual(
    new Set(['0xA2', '0xA3', '0xA4']),
  );
  expect(await further()).toBeNull();
  expect(await take(60, 'anna')).toBe('0xA1');
  expect(await query('select assigned_no as no from ledger.addresses order by 1')).toEqual(
    [1, 2, 3, 4].map((no) => ({ no })),
  );
});

test('a reference of the maximum length gets its address again, however well it compresses', async () => {
  await fill(60, 1, 2);
  const reference = Array.from({ length: 63 }, () => randomBytes(16).toString('hex'))
    .join('')
    .slice(0, 2_000);
  expect([await take(60, reference), await take(60, reference)]).toEqual(['0xA1', '0xA1']);
});

test.each([
  [`ledger.take_address(60, '')`, /the reference is empty/],
  [`ledger.take_address(60, E' \\n')`, /the reference is empty/],
  [`ledger.take_further_address(60, '')`, /the reference is empty/],
  ['ledger.take_further_address(60, null)', /needs a reference/],
  [
    `ledger.take_address(60, (select string_agg(md5(n::text), '') from generate_series(1, 300) n))`,
    /the reference has 9600 bytes, and at most 2000 are accepted/,
  ],
  [`ledger.take_address(60, repeat('é', 1001))`, /has 2002 bytes, and at most 2000/],
  [`ledger.take_address(null, 'anna')`, /no chain is named/],
  [`ledger.take_address(424242, 'anna')`, /chain 424242 has neither a pool nor addresses/],
  [`ledger.take_address(-1, null)`, /chain -1 has neither/],
  [`ledger.take_address('other', 60, 'anna')`, /no wallet named 'other'/],
  [`ledger.take_further_address(null::text, 60, 'anna')`, /no wallet named null/],
])('%s is an error that gives the reason', async (call, words) => {
  await fill(60, 1, 1);
  // The default of most sessions, and the setting of `migrate --issuer`.
  for (const idle of ['0', '1min']) {
    const asIdle = `set local idle_in_transaction_session_timeout = '${idle}'; select ${call}`;
    await expect(query(asIdle)).rejects.toThrow(words);
  }
  expect(await holders()).toEqual([]);
});

test('the functions accept a wallet, and an empty pool of a known chain is null', async () => {
  await fill(60, 1, 2);
  await query('insert into ledger.pools (slip44, threshold, target) values (195, 1, 2)');
  expect(
    await query(`select ledger.take_address('main', 60, 'anna') as first,
                        ledger.take_further_address('main', 60, 'anna') as further,
                        ledger.take_address(195, 'anna') as empty`),
  ).toEqual([{ first: '0xA1', further: '0xA2', empty: null }]);
});

test('while the chain filter of the list is broken no new address is handed out, and earlier ones stay', async () => {
  await fill(60, 1, 2);
  await query('insert into ledger.pools (slip44, threshold, target) values (60, 1, 2)');
  expect(await take(60, 'anna')).toBe('0xA1');
  await query(
    `update ledger.pools set chain_filter = 'broken', chain_param = 'slip44', chain_filter_at = now()`,
  );
  expect([await take(60, 'anna'), await take(60, 'ben')]).toEqual(['0xA1', null]);
  expect(
    await query(
      `select name, severity, what from ledger.problems where name = 'chain_filter_broken'`,
    ),
  ).toEqual([
    { name: 'chain_filter_broken', severity: 'critical', what: expect.stringContaining('slip44') },
  ]);
});
