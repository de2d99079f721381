import fc from 'fast-check';
import { expect, test } from 'vitest';
import { storeBalances } from '../../src/ledger/snapshots/balance-store.ts';
import { spelledAddress } from '../support/address-spellings.ts';
import { queryOnce } from '../support/on-database.ts';
import { withLedger } from '../support/with-ledger.ts';
import { balance } from './little-wallet.ts';

const { ledger, connectionString, query } = await withLedger();

/** Comments, quoted names, literals with escapes, and plain literals. */
const tokens = /--[^\n]*|\/\*[\s\S]*?\*\/|"[^"]*"|\bE'(?:[^'\\]|''|\\[\s\S])*'|'(?:[^']|'')*'/gi;

test('no function has a backslash in a literal that a setting of the session reads differently', async () => {
  const functions = await query<{ name: string; body: string }>(`
    select p.oid::regprocedure::text as name, p.prosrc as body from pg_proc p
     where p.pronamespace::regnamespace::text in ('ledger', 'engine', 'own') and p.prosqlbody is null`);
  expect(functions.length).toBeGreaterThan(100);
  const plain = functions.flatMap(({ name, body }) =>
    (body.match(tokens) ?? [])
      .filter((token) => token.startsWith("'") && token.includes('\\'))
      .map((literal) => ({ name, literal })),
  );
  expect(plain).toEqual([]);
});

test('address keys, reconciliation and problems are the same for clients that turn standard_conforming_strings off', async () => {
  await storeBalances(ledger.db, [balance('DOGE', '3')], 3, true);
  await query(`
    insert into ledger.rejects (source, order_no, field, payload, reason, fingerprint, first_seen_at, last_seen_at)
    values ('balance-list', null, 'balance', '{"symbol":"ETH","balance":"x"}', 'odd', 'odd', now(), now()),
           ('transaction-list', 'a', 'amount', '{"symbol":"DOGE","amount":"1.50"}', 'odd', 'even', now(), now())`);
  const texts = fc
    .sample(spelledAddress, { seed: 1, numRuns: 300 })
    .flatMap((one) => one.spellings);
  const spellings = [
    ...texts,
    'bitcoincash:qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a',
    ' \t0xAB\n',
    'with\\backslash',
    'a b#1',
  ];
  const read = async (setting: string) => {
    const url = new URL(connectionString);
    url.searchParams.set('options', `-c standard_conforming_strings=${setting}`);
    const ask = (text: string, values?: unknown[]) => queryOnce(url.href, text, values);
    return {
      setting: await ask('show standard_conforming_strings'),
      keys: await ask(
        'select a, ledger.address_key(a) as key from unnest($1::text[]) with ordinality as i (a, n) order by n',
        [spellings],
      ),
      reconciliation: await ask('select * from ledger.reconciliation'),
      problems: await ask('select name, what, cure from ledger.problems order by name, what'),
    };
  };
  const usual = await read('on');
  expect(await read('off')).toEqual({
    ...usual,
    setting: [{ standard_conforming_strings: 'off' }],
  });
  expect(usual.reconciliation).toMatchObject([{ symbol: 'DOGE' }]);
});
