import { sql } from 'drizzle-orm';
import pg from 'pg';
import { afterAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { grantConsumer, grantIssuer } from '../../src/ledger/connection/grant-roles.ts';
import { storeListedTransactions } from '../../src/ledger/transactions/store-listed-transactions.ts';
import type { Delivery } from '../../src/library/follow-events.ts';
import { type OpenOptions, openLedger, type PgPool } from '../../src/library/open-ledger.ts';
import { numberEvents } from '../support/number-events.ts';
import { startPostgres } from '../support/start-postgres.ts';
import { openTcpGate } from '../support/tcp-gate.ts';
import { listed } from '../support/transaction-rows.ts';
import { until } from '../support/until.ts';
import { withLedger } from '../support/with-ledger.ts';

const opened = await withLedger();
const { ledger, query, connectionString } = opened;
const shop = `shop_${process.pid}_${Date.now()}`;
const other = `${shop}_other`;
for (const role of [shop, other]) {
  await query(`create role ${role} login password '${role}'`);
  await grantConsumer(ledger, role);
}
await grantIssuer(ledger, shop);
await query(`create schema shop authorization ${shop}`);
await query(`create table shop.credits (order_no text primary key, amount numeric)`);
await query(`grant all on shop.credits to ${shop}`);

afterAll(async () => {
  await query(`drop schema shop cascade`);
  for (const role of [shop, other]) await query(`drop owned by ${role}; drop role ${role}`);
});

beforeEach(async () => {
  await opened.clear();
  await query('truncate engine.outbox, ledger.events, engine.consumers, shop.credits');
  await query(`insert into ledger.final_states values ('success', true), ('failed', false)`);
  await query(`insert into ledger.streams (name, last_walk_at) values ('deposit', now())
               on conflict (wallet, name) do update set last_walk_at = now()`);
  await query(`insert into ledger.addresses (slip44, address, status, generated_by, first_seen_at)
               select 60, '0xAB' || n, 'available', 1, now() + n * interval '1 second' from generate_series(1, 3) n`);
});

function urlOf(role: string, base = connectionString): string {
  const url = new URL(base);
  url.username = role;
  url.password = role;
  return url.href;
}

async function open(database: string | PgPool = urlOf(shop), options: OpenOptions = {}) {
  const library = await openLedger(database, options);
  onTestFinished(() => library.close());
  return library;
}

let observation = 0;
/** Stores what the service says of a deposit, and numbers its events. */
async function say(orderNo: string, state: string, toAddress = '0xab1'): Promise<void> {
  observation += 1;
  const row = listed({ orderNo, state, toAddress, amount: '1.50', symbol: 'ETH', observation });
  await storeListedTransactions(ledger.db, 'deposit', [row]);
  await numberEvents(ledger.db);
}

const positions = () => query('select name, position::integer from engine.consumers');

describe('opening', () => {
  test('a database without a ledger, or with one of another version, is named with its cure', async () => {
    const empty = await startPostgres();
    onTestFinished(() => empty.close());
    const cure = expect.stringContaining('wallet-ledger migrate');
    await expect(openLedger(empty.connectionString)).rejects.toMatchObject({
      code: 'schema-older',
      cure,
    });
    const pool = new pg.Pool({ connectionString: empty.connectionString, max: 3 });
    onTestFinished(() => pool.end());
    const versions = [
      ['1.0', 'schema-older'],
      ['2.0', 'schema-newer'],
    ];
    for (const [version, code] of versions) {
      await pool.query(`create schema if not exists ledger;
        create or replace function ledger.contract_version() returns text language sql as $$ select '${version}' $$`);
      await expect(openLedger(pool)).rejects.toMatchObject({ code });
    }
    expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
  });

  test('a wrong address, an unencrypted one and a small pool are refused before anything is sent', async () => {
    for (const address of ['mysql://x/y', 'postgres://db.example.com/ledger'])
      await expect(openLedger(address)).rejects.toMatchObject({ code: 'usage' });
    const pool = new pg.Pool({ connectionString, max: 2 });
    onTestFinished(() => pool.end());
    await expect(openLedger(pool)).rejects.toMatchObject({ code: 'usage' });
    await expect(openLedger('postgres://127.0.0.1:1/none')).rejects.toMatchObject({
      code: 'database-unreachable',
    });
  });

  test('a role whose sessions run no triggers is refused, over an address and over a pool', async () => {
    await query(`alter role ${other} set session_replication_role = replica`);
    onTestFinished(async () => {
      await query(`alter role ${other} reset session_replication_role`);
    });
    const pool = new pg.Pool({ connectionString: urlOf(other), max: 3 });
    onTestFinished(() => pool.end());
    for (const database of [urlOf(other), pool])
      await expect(openLedger(database)).rejects.toMatchObject({
        code: 'settings',
        cure: expect.stringContaining(`alter role ${other} reset session_replication_role`),
      });
  });

  test('after close every call says so, and a given pool stays open', async () => {
    const pool = new pg.Pool({ connectionString: urlOf(shop), max: 3 });
    onTestFinished(() => pool.end());
    const library = await openLedger(pool);
    const wait = library.waitForDeposit({ reference: 'alice' });
    const refused = expect(wait).rejects.toMatchObject({ code: 'closed' });
    await library.close();
    await library.close();
    await refused;
    await expect(library.takeAddress(60, 'alice')).rejects.toMatchObject({ code: 'closed' });
    expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
  });
});

describe('taking addresses', () => {
  test('a reference keeps its address, an empty pool is null, and mistakes are named', async () => {
    const library = await open();
    const alice = await library.takeAddress(60, 'alice');
    expect(alice).toBe('0xAB1');
    expect(await library.takeAddress(60, 'alice', { wallet: 'main' })).toBe(alice);
    expect([await library.takeAddress(60, 'bob'), await library.takeAddress(60, 'carol')]).toEqual([
      '0xAB2',
      '0xAB3',
    ]);
    expect(await library.takeAddress(60, 'dave')).toBeNull();
    for (const mistake of [
      () => library.takeAddress(60, ' '),
      () => library.takeAddress(60, null as unknown as string),
      () => library.waitForDeposit({ address: '' }),
      () => library.takeAddress(999, 'alice'),
      () => library.takeAddress(60, 'alice', { wallet: 'nobody' }),
    ])
      await expect(mistake()).rejects.toMatchObject({ code: 'usage', name: 'LedgerError' });
  });

  test('a role without the right learns which command gives it', async () => {
    const library = await open(urlOf(other));
    await expect(library.takeAddress(60, 'alice')).rejects.toMatchObject({
      code: 'rights',
      cure: expect.stringContaining(`migrate --issuer ${other}`),
    });
  });
});

describe('waiting for a deposit', () => {
  test('seen and final, by reference and by any spelling of the address, now and later', async () => {
    const library = await open();
    const address = (await library.takeAddress(60, 'alice')) ?? '';
    const waits = [{ reference: 'alice' }, { address }, { address: address.toLowerCase() }].flatMap(
      (of) => [
        library.waitForDeposit(of, { until: 'seen' }),
        library.waitForDeposit(of, { until: 'final' }),
      ],
    );
    const elsewhere = library.waitForDeposit(
      { reference: 'alice' },
      { wallet: 'eu', timeoutMs: 1 },
    );
    await expect(elsewhere).rejects.toMatchObject({ code: 'timed-out' });
    await say('d1', 'pending', '0xaB1');
    const seen = await waits[0];
    expect(seen).toMatchObject({
      order_no: 'd1',
      seq: 1,
      wallet: 'main',
      amount: '1.50',
      reference: 'alice',
      is_final: false,
    });
    await say('d1', 'success', '0xaB1');
    const all = await Promise.all(waits);
    expect(all.map(({ order_no, is_final }) => [order_no, is_final])).toEqual(
      [false, true, false, true, false, true].map((isFinal) => ['d1', isFinal]),
    );
    await say('d2', 'failed', '0xaB1');
    const [again, next] = await Promise.all([
      library.waitForDeposit({ reference: 'alice' }),
      library.waitForDeposit({ reference: 'alice' }, { after: all[1]?.seq ?? 0 }),
    ]);
    expect([again.order_no, next.order_no, next.is_success]).toEqual(['d1', 'd2', false]);
  });

  test('a reference of several wallets needs the name of one, also if the second one gets it later', async () => {
    const library = await open();
    await library.takeAddress(60, 'alice');
    const early = library.waitForDeposit({ reference: 'alice' });
    early.catch(() => undefined);
    const own = library.waitForDeposit({ reference: 'alice' }, { wallet: 'main' });
    await until(
      async () =>
        (await query(`select from pg_stat_activity where query like 'listen%'`)).length > 0,
    );
    await query(`insert into ledger.addresses (wallet, slip44, address, status, assigned_to, assigned_no, assigned_at, generated_by, first_seen_at)
                 values ('b', 0, '0xCD1', 'assigned', 'alice', 1, now(), 1, now())`);
    const several = {
      code: 'usage',
      message: 'the reference alice has addresses of several wallets (b, main)',
      cure: expect.stringContaining("{ wallet: 'b' }"),
    };
    await expect(library.waitForDeposit({ reference: 'alice' })).rejects.toMatchObject(several);
    await say('d1', 'success');
    await expect(early).rejects.toMatchObject(several);
    expect(await own).toMatchObject({ order_no: 'd1', wallet: 'main' });
    const byAddress = await library.waitForDeposit({ address: '0xAB1' });
    expect(byAddress).toMatchObject({ order_no: 'd1' });
  });

  test('a deposit that was taken back does not end a wait; its return does', async () => {
    const library = await open();
    await library.takeAddress(60, 'alice');
    await say('d1', 'success');
    expect([{ head: await library.head() }]).toEqual(
      await query('select max(seq)::integer as head from ledger.events'),
    );
    await query(`update ledger.transactions set is_listed = false`);
    await numberEvents(ledger.db);
    await expect(
      library.waitForDeposit({ reference: 'alice' }, { timeoutMs: 300 }),
    ).rejects.toMatchObject({ code: 'timed-out' });
    const wait = library.waitForDeposit({ reference: 'alice' });
    await query(`update ledger.transactions set is_listed = true`);
    await numberEvents(ledger.db);
    expect(await wait).toMatchObject({ order_no: 'd1', is_listed: true });
  });

  test('a signal ends the wait with its reason, and a feed that went back with an error', async () => {
    const library = await open();
    const stop = new AbortController();
    const wait = library.waitForDeposit({ reference: 'alice' }, { signal: stop.signal });
    stop.abort(new Error('enough'));
    await expect(wait).rejects.toThrow('enough');
    await expect(
      library.waitForDeposit({ reference: 'alice' }, { after: 5 }),
    ).rejects.toMatchObject({ code: 'position-ahead' });
  });

  test('a wait goes on over a lost connection, through its own connections and those of a pool', async () => {
    const gate = await openTcpGate(urlOf(shop));
    onTestFinished(() => gate.close());
    const pool = new pg.Pool({ connectionString: gate.url, max: 4 });
    pool.on('error', () => undefined);
    onTestFinished(() => pool.end());
    const warnings: Error[] = [];
    const onWarning = (error: Error) => void warnings.push(error);
    const libraries = [await open(gate.url, { onWarning }), await open(pool, { onWarning })];
    const waits = libraries.map((each) => each.waitForDeposit({ address: '0xAB1' }));
    const listeners = `select from pg_stat_activity where datname = current_database() and query like 'select 1%' or query like 'listen%'`;
    await until(async () => (await query(listeners)).length >= 2);
    gate.shut();
    for (const each of libraries) waits.push(each.waitForDeposit({ address: '0xAB1' }));
    await until(async () => warnings.length >= 4);
    await say('d1', 'success');
    gate.open();
    const deposits = await Promise.all(waits);
    expect(deposits.map(({ order_no }) => order_no)).toEqual(['d1', 'd1', 'd1', 'd1']);
    for (const warning of warnings) expect(warning).toMatchObject({ code: 'database-unreachable' });
  });
});

describe('following events', () => {
  const credit = ({ event, query: run }: Delivery) =>
    run('insert into shop.credits values ($1, $2)', [
      event.key,
      'amount' in event.data ? event.data.amount : null,
    ]);
  const credits = () => query('select order_no from shop.credits order by 1');

  test('writes and position are committed together, and rolled back by a break, an error and a close', async () => {
    const library = await open();
    for (const orderNo of ['d1', 'd2', 'd3']) await say(orderNo, 'pending');
    for await (const delivery of library.events('books')) {
      await credit(delivery);
      break;
    }
    expect(await credits()).toEqual([]);
    const failing = async () => {
      for await (const delivery of library.events('books')) {
        await credit(delivery);
        if (delivery.event.key === 'd2') throw new Error('the shop failed');
      }
    };
    await expect(failing()).rejects.toThrow('the shop failed');
    expect([await credits(), await positions()]).toEqual([
      [{ order_no: 'd1' }],
      [{ name: 'books', position: 1 }],
    ]);
    const closing = async () => {
      for await (const delivery of library.events('books')) {
        await credit(delivery);
        await library.close();
      }
    };
    await expect(closing()).rejects.toMatchObject({ code: 'closed' });
    expect(await credits()).toEqual([{ order_no: 'd1' }]);
  });

  test('a failed statement that the loop passes over is named, and the event comes again; a savepoint lets it pass', async () => {
    const library = await open();
    await say('d1', 'pending');
    const failing = async () => {
      for await (const { query: run } of library.events('books')) {
        await run('select 1/0').catch(() => undefined);
        await run('select 1').catch(() => undefined);
      }
    };
    await expect(failing()).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringMatching(
        /of books failed .* position was not moved: division by zero$/,
      ),
      cure: expect.stringContaining('savepoint'),
    });
    const ofDrizzle = async () => {
      for await (const { db } of library.events('books'))
        await db.execute(sql`select 1/0`).catch(() => undefined);
    };
    await expect(ofDrizzle()).rejects.toMatchObject({ code: 'usage' });
    const stop = new AbortController();
    for await (const { query: run } of library.events('books', { signal: stop.signal })) {
      await run('savepoint risky');
      await run('select 1/0').catch(() => run('rollback to savepoint risky'));
      stop.abort();
    }
    expect(await positions()).toEqual([{ name: 'books', position: 1 }]);
  });

  test('a signal ends the loop after the event is committed; later events arrive by notification', async () => {
    const library = await open();
    await say('d1', 'pending');
    const stop = new AbortController();
    const done: string[] = [];
    const loop = (async () => {
      for await (const { event, db } of library.events('books', { signal: stop.signal })) {
        await db.execute(sql`insert into shop.credits values (${event.key}, 1)`);
        done.push(event.key);
        if (event.key === 'd2') stop.abort();
      }
    })();
    await until(async () => (await credits()).length === 1);
    await say('d2', 'pending');
    await loop;
    expect(done).toEqual(['d1', 'd2']);
    expect(await credits()).toHaveLength(2);
    const idle = new AbortController();
    const waiting = library.events('books', { signal: idle.signal }).next();
    idle.abort();
    expect(await waiting).toEqual({ done: true, value: undefined });
  });

  test('two loops of one consumer share the events; several are committed at once', async () => {
    const library = await open();
    for (let number = 1; number <= 6; number += 1) await say(`d${number}`, 'pending');
    const stop = new AbortController();
    const seen: number[] = [];
    const follow = async () => {
      const options = { signal: stop.signal, eventsPerTransaction: 2 };
      for await (const delivery of library.events('books', options)) {
        await credit(delivery);
        seen.push(delivery.event.seq);
        if (seen.length === 6) stop.abort();
      }
    };
    await Promise.all([follow(), follow()]);
    expect(seen.toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(await credits()).toHaveLength(6);
    expect(await positions()).toEqual([{ name: 'books', position: 6 }]);
  });

  test('a loop that is stopped acknowledges what it has processed, and nothing more', async () => {
    const library = await open();
    for (let number = 1; number <= 4; number += 1) await say(`d${number}`, 'pending');
    const stop = new AbortController();
    const options = { signal: stop.signal, eventsPerTransaction: 10 };
    for await (const { event } of library.events('books', options))
      if (event.seq === 2) stop.abort();
    expect(await positions()).toEqual([{ name: 'books', position: 2 }]);
  });

  test('events of other wallets are acknowledged unseen', async () => {
    await query(`insert into ledger.events (seq, recorded_at, kind, key, data, wallet)
      values (1, now(), 'k', 'a', '{}', 'eu'), (2, now(), 'k', 'b', '{}', 'main'), (3, now(), 'k', 'c', '{}', 'eu')`);
    const library = await open(urlOf(shop), { wallet: 'eu' });
    const stop = new AbortController();
    const keys: string[] = [];
    for await (const { event } of library.events('books', { signal: stop.signal })) {
      keys.push(event.key);
      if (event.seq === 3) stop.abort();
    }
    expect([keys, await positions()]).toEqual([['a', 'c'], [{ name: 'books', position: 3 }]]);
  });

  test('waits over a lost connection, but a delivery that is cut off fails', async () => {
    const gate = await openTcpGate(urlOf(shop));
    onTestFinished(() => gate.close());
    const warnings: Error[] = [];
    const library = await open(gate.url, { onWarning: (error) => void warnings.push(error) });
    const keys: string[] = [];
    const loop = (async () => {
      for await (const { event } of library.events('books')) {
        keys.push(event.key);
        if (event.key === 'd2') gate.end();
      }
    })();
    const failed = expect(loop).rejects.toMatchObject({ code: 'database-unreachable' });
    await say('d1', 'pending');
    await until(async () => (await positions())[0]?.['position'] === 1);
    gate.shut();
    await until(async () => warnings.length > 0);
    await say('d2', 'pending');
    gate.open();
    await failed;
    expect(keys).toEqual(['d1', 'd2']);
    expect(await positions()).toEqual([{ name: 'books', position: 1 }]);
  });

  test('a position ahead of the feed, deleted events and the consumer of another role are named', async () => {
    const library = await open();
    const first = (consumer = 'books') => library.events(consumer).next();
    await say('d1', 'pending');
    await query(
      `insert into engine.consumers (name, role, position) values ('books', '${shop}', 9), ('theirs', '${other}', 0)`,
    );
    await expect(first()).rejects.toMatchObject({ code: 'position-ahead' });
    await expect(first('theirs')).rejects.toMatchObject({ code: 'usage' });
    await expect(first('no name')).rejects.toMatchObject({ code: 'usage' });
    await query(`update engine.consumers set position = 0; update ledger.events set seq = 5`);
    await expect(first()).rejects.toMatchObject({ code: 'events-deleted' });
  });
});
