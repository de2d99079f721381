/**
 * `npm run false-alarms -- [--crashes N] [--restarts N] [--kills N] [--minutes N] [--postgres DIR]`: crashes and
 * restarts a server, kills sessions in transactions and rewrites the tables, and checks after each step that the
 * database still counts as at home. Exits with 1 otherwise.
 */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { silentLog } from '../../src/kernel/log.ts';
import { takeAddress } from '../../src/ledger/addresses/pool-store.ts';
import { connectLedger } from '../../src/ledger/connection/connect-ledger.ts';
import { migrateLedger } from '../../src/ledger/connection/migrate-ledger.ts';
import { readAway } from '../../src/ledger/home-store.ts';
import { onDatabase } from '../support/on-database.ts';
import { type DatabaseCluster, startDatabaseCluster } from './database-cluster.ts';

const { values } = parseArgs({
  options: {
    crashes: { type: 'string', default: '500' },
    restarts: { type: 'string', default: '500' },
    kills: { type: 'string', default: '9000' },
    minutes: { type: 'string', default: '30' },
    postgres: { type: 'string' },
  },
});
const wanted = {
  crashes: Number(values.crashes),
  restarts: Number(values.restarts),
  kills: Number(values.kills),
};
const endsAt = performance.now() + Number(values.minutes) * 60_000;
const slip44 = 60;
const rounds = Math.max(1, wanted.crashes + wanted.restarts);
const killsPerRound = Math.ceil(wanted.kills / rounds);
const progressEvery = 50;

/** One of them in each round, in rotation. */
const cares = [
  'vacuum full',
  'vacuum (freeze)',
  'vacuum (full, freeze)',
  'reindex database wallet_ledger',
  'do $$ begin for n in 1..2000 loop perform pg_current_xact_id(); commit; end loop; end $$',
  'checkpoint',
  'analyze',
  'cluster ledger.addresses using addresses_address_key',
  'alter table engine.home set (fillfactor = 50); vacuum full engine.home',
] as const;

const made = { crashes: 0, restarts: 0, kills: 0, cares: 0, checks: 0 };
const alarms: string[] = [];

const home = await mkdtemp(join(tmpdir(), 'wallet-ledger-alarms-'));
const cluster = await startDatabaseCluster(home, {
  configuration: ['fsync=off', 'shared_buffers=16MB', 'max_connections=40'],
  programs: values.postgres ?? null,
});
process.on('exit', () => cluster.kill());
for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => process.exit(1));
try {
  await fill(cluster);
  for (let round = 0; round < rounds && performance.now() < endsAt; round += 1) {
    await playRound(cluster, round);
    if ((round + 1) % progressEvery === 0) say(`${JSON.stringify(made)}, alarms: ${alarms.length}`);
  }
} finally {
  await cluster.stop();
}
process.stdout.write(`${JSON.stringify({ made, alarms })}\n`);
process.exit(alarms.length === 0 ? 0 : 1);

async function fill({ port, urlAt }: DatabaseCluster): Promise<void> {
  const ledger = connectLedger({ connectionString: urlAt(port), poolSize: 2, log: silentLog });
  await migrateLedger(ledger);
  await ledger.pool.query(`
    insert into ledger.pools (slip44, threshold, target) values (${slip44}, 10, 20);
    insert into ledger.addresses (slip44, address, status, generated_by, first_seen_at)
    select ${slip44}, '0x' || md5(n::text), 'available', 1, now() from generate_series(1, 500) n`);
  await ledger.close();
}

async function playRound(server: DatabaseCluster, round: number): Promise<void> {
  const connectionString = server.urlAt(server.port);
  // One earlier session and one new one: the memory of a session must not cause a false alarm either.
  const ledger = connectLedger({ connectionString, poolSize: 1, log: silentLog });
  const check = async (after: string) => {
    made.checks += 1;
    const away = await readAway(ledger.db);
    if (away !== null) alarms.push(`${after}: ${away}`);
    await takeAddress(ledger.db, slip44, `customer-${round % 400}`);
  };
  await check('a start');
  await killSessions(server, Math.min(killsPerRound, wanted.kills - made.kills));
  await check('killed sessions');
  const care = cares[round % cares.length] ?? 'checkpoint';
  await asOwner(server, care);
  made.cares += 1;
  await check(care);
  const isCrash = made.restarts * wanted.crashes >= made.crashes * wanted.restarts;
  const isWanted = isCrash ? made.crashes < wanted.crashes : made.restarts < wanted.restarts;
  const kind = isCrash === isWanted ? 'crashes' : 'restarts';
  // During the transactions of other sessions.
  const busy = await openTransactions(connectionString, 2);
  await ledger.close();
  await server.crash(kind === 'crashes' ? 'SIGKILL' : 'SIGQUIT');
  made[kind] += 1;
  for (const client of busy) await client.end().catch(() => undefined);
  await server.start();
}

/** Half of them end by their server, half by themselves; each holds an address and rows that it has written. */
async function killSessions(server: DatabaseCluster, count: number): Promise<void> {
  if (count <= 0) return;
  const clients = await openTransactions(server.urlAt(server.port), count);
  await asOwner(
    server,
    `select pg_terminate_backend(pid) from pg_stat_activity
      where application_name in (${clients.map((_, nth) => `'victim-${nth * 2}'`).join()})`,
  );
  for (const client of clients) {
    (
      client as unknown as { connection: { stream: { destroy(): void } } }
    ).connection.stream.destroy();
  }
  made.kills += count;
}

async function openTransactions(connectionString: string, count: number): Promise<pg.Client[]> {
  return await Promise.all(
    Array.from({ length: count }, async (_, nth) => {
      const client = new pg.Client({ connectionString, application_name: `victim-${nth}` });
      client.on('error', () => undefined);
      await client.connect();
      await client.query('begin');
      await client.query(`select ledger.take_address(${slip44}, $1)`, [`lost-${nth}`]);
      await client.query(
        `insert into ledger.address_requests (slip44, num, state, requested_at) values (${slip44 + 1 + nth}, 1, 'done', now())`,
      );
      return client;
    }),
  );
}

async function asOwner({ ownerUrl }: DatabaseCluster, statements: string): Promise<void> {
  await onDatabase(ownerUrl(), async (client) => {
    for (const statement of statements.startsWith('do ') ? [statements] : statements.split('; '))
      await client.query(statement);
  });
}

function say(line: string): void {
  process.stderr.write(`false alarms: ${line}\n`);
}
