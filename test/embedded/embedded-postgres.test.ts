import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { openEmbeddedPostgres } from '../../src/embedded/embedded-postgres.ts';
import { isAlive, readPostmaster } from '../../src/embedded/postmaster.ts';
import { LedgerError } from '../../src/kernel/errors.ts';

const silent = () => undefined;
const log = { debug: silent, info: silent, warn: silent, error: silent };
const program = fileURLToPath(new URL('../support/embedded-user.ts', import.meta.url));
const tsx = import.meta.resolve('tsx');

let dataDir: string;
let children: ChildProcess[];

beforeEach(() => {
  dataDir = join(mkdtempSync(join(tmpdir(), 'wallet-ledger-pg-')), 'data');
  children = [];
});

afterEach(async () => {
  for (const child of children) child.kill('SIGKILL');
  const server = readPostmaster(data());
  if (server && isAlive(server.pid)) process.kill(server.pid, 'SIGQUIT');
  if (server) await vi.waitUntil(() => !isAlive(server.pid), { timeout: 10_000 });
  rmSync(join(dataDir, '..'), { recursive: true, force: true, maxRetries: 5 });
});

function data(): string {
  return join(dataDir, 'postgres');
}

function open(signal?: AbortSignal) {
  return openEmbeddedPostgres({ dataDir, log, ...(signal && { signal }) });
}

/** Another process that uses the database. */
async function startUser(options: { uid?: number; gid?: number } = {}) {
  const child = spawn(process.execPath, ['--import', tsx, program, dataDir], {
    stdio: ['pipe', 'pipe', 'pipe'],
    ...options,
  });
  children.push(child);
  let said = '';
  child.stderr.on('data', (text) => {
    said += text;
  });
  const lines = createInterface({ input: child.stdout });
  const exit = once(child, 'exit');
  const line = await Promise.race([
    once(lines, 'line').then(([text]) => String(text)),
    exit.then(() => {
      throw new Error(`the process ended: ${said}`);
    }),
  ]);
  return {
    connectionString: line.replace(/^open /, ''),
    close: async () => {
      child.stdin.write('\n');
      return await exit;
    },
    kill: async () => {
      child.kill('SIGKILL');
      await exit;
    },
  };
}

async function query(connectionString: string, text: string) {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

function serverPid(): number | undefined {
  return readPostmaster(data())?.pid;
}

describe('openEmbeddedPostgres', () => {
  test('starts a server in an empty directory, and close stops it; the data stay', async () => {
    const first = await open();
    const pid = serverPid() ?? 0;
    expect(isAlive(pid)).toBe(true);
    const [settings] = await query(
      first.connectionString,
      `select current_setting('TimeZone') as zone, current_setting('fsync') as fsync,
        current_setting('listen_addresses') as listen, current_setting('unix_socket_directories') as sockets,
        current_database() as database, current_user as user, getdatabaseencoding() as encoding,
        (select bool_and(rolpassword like 'SCRAM-SHA-256%') from pg_authid where rolcanlogin) as scram`,
    );
    expect(settings).toEqual({
      zone: 'UTC',
      fsync: 'on',
      listen: '127.0.0.1',
      sockets: '',
      database: 'wallet_ledger',
      user: 'wallet_ledger',
      encoding: 'UTF8',
      scram: true,
    });
    await query(first.connectionString, 'create table kept as select 42 as answer');
    expect(statSync(join(dataDir, 'postgres.password')).mode & 0o777).toBe(0o600);
    await Promise.all([first.close(), first.close()]);
    expect(isAlive(pid)).toBe(false);
    expect(serverPid()).toBeUndefined();

    const second = await open();
    expect(second.connectionString).toBe(first.connectionString);
    expect(await query(second.connectionString, 'select * from kept')).toEqual([{ answer: 42 }]);
    await second.close();
  });

  test('the server stays as long as somebody uses it', async () => {
    const first = await open();
    const pid = serverPid() ?? 0;
    const second = await startUser();
    expect(second.connectionString).toBe(first.connectionString);
    await first.close();
    expect(await query(second.connectionString, 'select 1 as one')).toEqual([{ one: 1 }]);
    expect(serverPid()).toBe(pid);
    expect(await second.close()).toEqual([0, null]);
    expect(isAlive(pid)).toBe(false);
  });

  test('the server of a killed process is taken over, and stopped by the last', async () => {
    const killed = await startUser();
    const pid = serverPid() ?? 0;
    await killed.kill();
    expect(isAlive(pid)).toBe(true);
    const database = await open();
    expect(serverPid()).toBe(pid);
    await database.close();
    expect(isAlive(pid)).toBe(false);
  });

  test('processes that start at the same moment end with one server', async () => {
    const users = await Promise.all([startUser(), startUser(), startUser()]);
    expect(new Set(users.map((user) => user.connectionString)).size).toBe(1);
    const pid = serverPid() ?? 0;
    for (const { connectionString } of users) await query(connectionString, 'select 1');
    await Promise.all(users.map((user) => user.close()));
    expect(isAlive(pid)).toBe(false);
    expect(existsSync(join(data(), 'postmaster.pid'))).toBe(false);
  });

  test('opening while another one closes always ends with a working database', async () => {
    let previous = await open();
    for (let round = 0; round < 4; round += 1) {
      const [next] = await Promise.all([delay(round * 15).then(() => open()), previous.close()]);
      expect(await query(next.connectionString, 'select 1 as one')).toEqual([{ one: 1 }]);
      previous = next;
    }
    await previous.close();
    expect(serverPid()).toBeUndefined();
  });

  test('a server that dies comes back where it was', async () => {
    const database = await open();
    const pid = serverPid() ?? 0;
    process.kill(pid, 'SIGKILL');
    await vi.waitUntil(() => (serverPid() ?? pid) !== pid, { timeout: 15_000 });
    const ask = () => query(database.connectionString, 'select 1 as one').catch(() => null);
    await vi.waitUntil(ask, { timeout: 10_000 });
    await database.close();
    expect(serverPid()).toBeUndefined();
  });

  test('a process file left by a crashed machine is coped with, even if its number is in use', async () => {
    const database = await open();
    const file = readFileSync(join(data(), 'postmaster.pid'), 'utf8');
    await database.close();
    const other = spawn('sleep', ['60']);
    children.push(other);
    for (const pid of [other.pid ?? 0, 2 ** 22 - 7]) {
      writeFileSync(join(data(), 'postmaster.pid'), file.replace(/^\d+/, String(pid)));
      const again = await open();
      expect(await query(again.connectionString, 'select 1 as one')).toEqual([{ one: 1 }]);
      await again.close();
    }
  });

  test('an aborted opening leaves no server and no draft behind', async () => {
    const stop = new AbortController();
    const opening = open(stop.signal);
    await vi.waitUntil(() => existsSync(join(dataDir, 'postgres.password')));
    stop.abort(new LedgerError('interrupted', 'stopped'));
    await expect(opening).rejects.toMatchObject({ code: 'interrupted' });
    expect(existsSync(data())).toBe(false);
  });

  test('data that cannot be served are a described failure', async () => {
    await (await open()).close();
    writeFileSync(join(data(), 'PG_VERSION'), '17\n');
    await expect(open()).rejects.toMatchObject({
      code: 'database-unreachable',
      message: expect.stringContaining('database files are incompatible with server'),
    });
  });
});

describe.runIf(process.getuid?.() === 0)('as root', () => {
  test('works below a directory that only root may enter', async () => {
    mkdirSync(dataDir, { mode: 0o700 });
    const database = await open();
    expect(statSync(data()).uid).not.toBe(0);
    await database.close();
  });

  test('an ordinary user runs it too, and root joins that server', async () => {
    chmodSync(join(dataDir, '..'), 0o777);
    const user = await startUser({ uid: 65534, gid: 65534 });
    expect(statSync(data()).uid).toBe(65534);
    const pid = serverPid() ?? 0;
    const database = await open();
    await user.close();
    expect(isAlive(pid)).toBe(true);
    await database.close();
    expect(isAlive(pid)).toBe(false);
    const again = await open();
    await again.close();
  });
});
