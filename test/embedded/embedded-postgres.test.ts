import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { hasDatabase } from '../../src/embedded/choose-place.ts';
import { openEmbeddedPostgres } from '../../src/embedded/embedded-postgres.ts';
import { isAlive, readPostmaster } from '../../src/embedded/postmaster.ts';
import { chooseServerAccount } from '../../src/embedded/server-account.ts';
import { locateReachableBinaries } from '../../src/embedded/server-binaries.ts';
import { ensurePassword, locateServerFiles, rootHome } from '../../src/embedded/server-files.ts';
import { shortNameOf } from '../../src/embedded/socket-path.ts';
import { LedgerError } from '../../src/kernel/errors.ts';
import { silentLog as log } from '../../src/kernel/log.ts';
import { isOpenToAll } from '../support/embedded-server.ts';
import { freePort } from '../support/free-port.ts';
import { queryOnce } from '../support/on-database.ts';

const program = fileURLToPath(new URL('../support/embedded-user.ts', import.meta.url));
const tsx = import.meta.resolve('tsx');

let dataDir: string;
let children: ChildProcess[];

beforeEach(() => {
  // On the file system of the place that root's data move to.
  dataDir = join(mkdtempSync('/var/tmp/wallet-ledger-pg-'), 'data');
  // Root's PostgreSQL, which runs under another account, must be able to enter.
  chmodSync(join(dataDir, '..'), 0o711);
  children = [];
});

afterEach(async () => {
  for (const child of children) child.kill('SIGKILL');
  const server = readPostmaster(data());
  if (server && isAlive(server.pid)) process.kill(server.pid, 'SIGQUIT');
  if (server) await vi.waitUntil(() => !isAlive(server.pid), { timeout: 60_000 });
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

function serverPid(): number | undefined {
  return readPostmaster(data())?.pid;
}

describe('openEmbeddedPostgres', () => {
  test('starts a server in an empty directory, and close stops it and keeps the data', async () => {
    const first = await open();
    const pid = serverPid() ?? 0;
    expect(isAlive(pid)).toBe(true);
    const [settings] = await queryOnce(
      first.connectionString,
      `select current_setting('TimeZone') as zone, current_setting('fsync') as fsync,
        current_setting('listen_addresses') as listen, current_setting('unix_socket_permissions') as permissions,
        current_database() as database, current_user as user, getdatabaseencoding() as encoding,
        (select rolsuper from pg_roles where rolname = session_user) as superuser,
        (select string_agg(rolname, ',') from pg_roles where rolcanlogin) as logins`,
    );
    expect(settings).toEqual({
      zone: 'UTC',
      fsync: 'on',
      listen: '',
      permissions: '0700',
      database: 'wallet_ledger',
      user: 'wallet_ledger',
      encoding: 'UTF8',
      superuser: false,
      logins: 'wallet_ledger',
    });
    await queryOnce(first.connectionString, 'create table kept as select 42 as answer');
    expect(statSync(join(dataDir, 'postgres.password')).mode & 0o777).toBe(0o600);
    await Promise.all([first.close(), first.close()]);
    expect(isAlive(pid)).toBe(false);
    expect(serverPid()).toBeUndefined();

    const second = await open();
    expect(second.connectionString).toBe(first.connectionString);
    expect(await queryOnce(second.connectionString, 'select * from kept')).toEqual([
      { answer: 42 },
    ]);
    await second.close();
  });

  test('ignores environment variables for another server', async () => {
    vi.stubEnv('PGSSLMODE', 'require');
    try {
      const embedded = await open();
      const rows = await queryOnce(embedded.connectionString, 'select 1 as one');
      await embedded.close();
      expect(rows).toEqual([{ one: 1 }]);
    } finally {
      vi.unstubAllEnvs();
    }
  });

  test('keeps the server running as long as a process uses it', async () => {
    const first = await open();
    const pid = serverPid() ?? 0;
    const second = await startUser();
    expect(second.connectionString).toBe(first.connectionString);
    await first.close();
    expect(await queryOnce(second.connectionString, 'select 1 as one')).toEqual([{ one: 1 }]);
    expect(serverPid()).toBe(pid);
    expect(await second.close()).toEqual([0, null]);
    expect(isAlive(pid)).toBe(false);
  });

  test('takes over the server of a killed process, and the last process stops it', async () => {
    const killed = await startUser();
    const pid = serverPid() ?? 0;
    await killed.kill();
    expect(isAlive(pid)).toBe(true);
    const database = await open();
    expect(serverPid()).toBe(pid);
    await database.close();
    expect(isAlive(pid)).toBe(false);
  });

  test('gives one server to processes that start at the same moment', async () => {
    const users = await Promise.all([startUser(), startUser(), startUser()]);
    expect(new Set(users.map((user) => user.connectionString)).size).toBe(1);
    const pid = serverPid() ?? 0;
    for (const { connectionString } of users) await queryOnce(connectionString, 'select 1');
    await Promise.all(users.map((user) => user.close()));
    expect(isAlive(pid)).toBe(false);
    expect(existsSync(join(data(), 'postmaster.pid'))).toBe(false);
  });

  test('gives a working database also while another process closes', async () => {
    let previous = await open();
    for (let round = 0; round < 4; round += 1) {
      const [next] = await Promise.all([delay(round * 15).then(() => open()), previous.close()]);
      expect(await queryOnce(next.connectionString, 'select 1 as one')).toEqual([{ one: 1 }]);
      previous = next;
    }
    await previous.close();
    expect(serverPid()).toBeUndefined();
  });

  test('restarts a server that has died at the same address', async () => {
    const database = await open();
    const pid = serverPid() ?? 0;
    process.kill(pid, 'SIGKILL');
    await vi.waitUntil(() => (serverPid() ?? pid) !== pid, { timeout: 60_000 });
    const ask = () => queryOnce(database.connectionString, 'select 1 as one').catch(() => null);
    await vi.waitUntil(ask, { timeout: 60_000 });
    await database.close();
    expect(serverPid()).toBeUndefined();
  });

  test('handles a pid file left by a crashed machine, even if its number is in use', async () => {
    const database = await open();
    const file = readFileSync(join(data(), 'postmaster.pid'), 'utf8');
    await database.close();
    const other = spawn('sleep', ['60']);
    children.push(other);
    for (const pid of [other.pid ?? 0, 2 ** 22 - 7]) {
      writeFileSync(join(data(), 'postmaster.pid'), file.replace(/^\d+/, String(pid)));
      const again = await open();
      expect(await queryOnce(again.connectionString, 'select 1 as one')).toEqual([{ one: 1 }]);
      await again.close();
    }
  });

  test('leaves no server and no unfinished directory after an aborted opening', async () => {
    const stop = new AbortController();
    const opening = open(stop.signal);
    await vi.waitUntil(() => existsSync(join(dataDir, 'postgres.password')));
    stop.abort(new LedgerError('interrupted', 'stopped'));
    await expect(opening).rejects.toMatchObject({ code: 'interrupted' });
    expect(existsSync(data())).toBe(false);
  });

  test.runIf(process.platform === 'linux')(
    'refuses a directory at once if the file system does not allow it',
    async () => {
      await expect(openEmbeddedPostgres({ dataDir: '/proc/x/y', log })).rejects.toThrow(
        '/proc/x cannot be created',
      );
    },
  );

  test('reports data that cannot be served with a described error', async () => {
    await (await open()).close();
    writeFileSync(join(data(), 'PG_VERSION'), '17\n');
    await expect(open()).rejects.toMatchObject({
      code: 'database-unreachable',
      message: expect.stringContaining('database files are incompatible with server'),
    });
  });
});

describe('protection of an embedded server against other users', () => {
  const refused = (what: string) => ({ code: 'settings', message: expect.stringContaining(what) });

  test('the program reads no file of the server machine and runs no program on it', async () => {
    const database = await open();
    for (const statement of [
      `select pg_read_file('/etc/passwd')`,
      `copy (select 1) to program 'true'`,
      `create role another superuser`,
      `alter role wallet_ledger superuser`,
      `set role wallet_ledger_setup`,
    ]) {
      await expect(queryOnce(database.connectionString, statement)).rejects.toMatchObject({
        code: '42501',
      });
    }
    await database.close();
  });

  test('the socket lies in a directory that its user alone may enter', async () => {
    const database = await open();
    const socket = new URL(database.connectionString).searchParams.get('host') ?? '';
    expect(statSync(socket).mode & 0o777).toBe(0o700);
    expect(existsSync(join(socket, '.s.PGSQL.5432'))).toBe(true);
    await database.close();
  });

  test('a path too long for a socket is served all the same', async () => {
    dataDir = join(dataDir, 'a'.repeat(60), 'b'.repeat(60));
    const database = await open();
    expect(await queryOnce(database.connectionString, 'select 1 as one')).toEqual([{ one: 1 }]);
    await database.close();
    await rootHomeOf(dataDir).remove();
  });

  test('a directory that others may write is refused, and so is one below it', async () => {
    const parent = join(dataDir, '..');
    chmodSync(parent, 0o777);
    await expect(open()).rejects.toMatchObject(refused(`every user may write ${parent}`));
    chmodSync(parent, 0o711);
    mkdirSync(dataDir);
    chmodSync(dataDir, 0o1777);
    await expect(open()).rejects.toMatchObject(refused(`every user may write ${dataDir}`));
  });

  test.each(['postgres.log', 'postgres.password', 'postgres'])(
    'a link in place of %s is refused and not followed',
    async (name) => {
      mkdirSync(dataDir, { mode: 0o711 });
      const target = join(dataDir, '..', 'target');
      writeFileSync(target, 'untouched', { mode: 0o600 });
      symlinkSync(target, join(dataDir, name));
      await expect(open()).rejects.toMatchObject(refused(join(dataDir, name)));
      expect(readFileSync(target, 'utf8')).toBe('untouched');
    },
  );

  test('a password file that others may read is refused', async () => {
    mkdirSync(dataDir, { mode: 0o711 });
    writeFileSync(join(dataDir, 'postgres.password'), 'known', { mode: 0o644 });
    await expect(open()).rejects.toMatchObject(refused('postgres.password is open to other users'));
  });
});

describe('data of an earlier version', () => {
  /** The state of an earlier version: the program's role is initdb's superuser. */
  async function makeEarlierData() {
    mkdirSync(dataDir, { mode: 0o711 });
    const files = locateServerFiles(dataDir);
    const account = await chooseServerAccount([]);
    const binaries = await locateReachableBinaries(account);
    const password = await ensurePassword(files, account.owner);
    mkdirSync(files.data, { mode: 0o700 });
    if (account.owner) chownSync(files.data, account.owner.uid, account.owner.gid);
    const initdb = ['--username=wallet_ledger', '--auth=scram-sha-256', '--encoding=UTF8'];
    const options = { cwd: '/', stdio: 'pipe' as const, ...account.owner };
    execFileSync(
      binaries.initdb,
      [...initdb, '--locale=C', `--pwfile=${files.password}`, '-D', files.data],
      options,
    );
    const single = (database: string, input: string) =>
      execFileSync(binaries.postgres, ['--single', '-j', '-D', files.data, database], {
        ...options,
        input,
      });
    single('postgres', 'create database wallet_ledger;\n\n');
    return { files, account, binaries, password, single };
  }

  test('is migrated with the same address, rights and rows, and without a superuser', async () => {
    const { single } = await makeEarlierData();
    single(
      'wallet_ledger',
      `create schema ledger; create type ledger.mood as enum ('fine'); create domain ledger.small as int;
       create table ledger.kept (id int generated always as identity, old serial, mood ledger.mood);
       create sequence ledger.own; create view ledger.seen as select * from ledger.kept;
       create function ledger.one() returns int language sql return 1;
       create procedure ledger.act() language sql as 'select 1';
       insert into ledger.kept (mood) values ('fine');
       create role reader; grant usage on schema ledger to reader; grant select on ledger.kept to reader;
       alter default privileges in schema ledger grant select on tables to reader;
       create publication feed for table ledger.kept;\n\n`,
    );
    const database = await open();
    const ask = (text: string) => queryOnce(database.connectionString, text);
    expect(await ask('select mood from ledger.kept')).toEqual([{ mood: 'fine' }]);
    const [row] = await ask(`
      select (select rolsuper from pg_roles where rolname = session_user) as superuser,
             (select string_agg(rolname, ',') from pg_roles where rolcanlogin) as logins,
             has_table_privilege('reader', 'ledger.kept', 'select') as readable,
             (select string_agg(distinct owner, ',') from (
               select nspowner::regrole::text from pg_namespace where nspname = 'ledger'
               union select relowner::regrole::text from pg_class where relnamespace = 'ledger'::regnamespace
               union select proowner::regrole::text from pg_proc where pronamespace = 'ledger'::regnamespace
               union select typowner::regrole::text from pg_type where typnamespace = 'ledger'::regnamespace
               union select pubowner::regrole::text from pg_publication
               union select datdba::regrole::text from pg_database where datname = current_database()
             ) as o (owner)) as owners`);
    expect(row).toEqual({
      superuser: false,
      logins: 'wallet_ledger',
      readable: true,
      owners: 'wallet_ledger',
    });
    await ask('create table ledger.later (id int)');
    expect(
      await ask(`select has_table_privilege('reader', 'ledger.later', 'select') as may`),
    ).toEqual([{ may: true }]);
    await ask(`alter role reader login password 'reads'`);
    await database.close();
    const again = await open();
    expect(again.connectionString).toBe(database.connectionString);
    await again.close();
  });

  test('is taken over from a server that a killed process has left on a port', async () => {
    const { files, account, binaries } = await makeEarlierData();
    const port = await freePort();
    const settings = ['-c', `port=${port}`, '-c', 'unix_socket_directories='];
    children.push(
      spawn(binaries.postgres, ['-D', files.data, ...settings], {
        cwd: '/',
        stdio: 'ignore',
        ...account.owner,
      }),
    );
    await vi.waitUntil(() => readPostmaster(files.data)?.isReady, { timeout: 60_000 });
    const users = await Promise.all([open(), startUser()]);
    for (const { connectionString } of users) {
      expect(await queryOnce(connectionString, 'select 1 as one')).toEqual([{ one: 1 }]);
    }
    for (const user of users) await user.close();
  });
});

/** Place of the database for a directory that root's PostgreSQL cannot enter. */
function rootHomeOf(directory: string) {
  const home = join(rootHome, shortNameOf(directory));
  return { home, remove: () => rm(home, { recursive: true, force: true, maxRetries: 5 }) };
}

describe.runIf(process.getuid?.() === 0 && process.platform === 'linux')('as root on Linux', () => {
  test('below a directory that only root may enter no permission is granted: the data are kept elsewhere', async () => {
    mkdirSync(dataDir, { mode: 0o700 });
    const { home, remove } = rootHomeOf(dataDir);
    try {
      expect(await hasDatabase(dataDir)).toBe(false);
      const database = await open();
      const pid = readPostmaster(join(home, 'postgres'))?.pid;
      expect(statSync(join(home, 'postgres')).uid).not.toBe(0);
      expect(readFileSync(`/proc/${pid}/status`, 'utf8')).toMatch(
        /CapInh:\s*0+\nCapPrm:\s*0+\nCapEff:\s*0+\n/,
      );
      await database.close();
      expect(await hasDatabase(dataDir)).toBe(true);
      // It stays there, also when the directory is opened.
      chmodSync(dataDir, 0o711);
      const again = await open();
      expect(again.connectionString).toBe(database.connectionString);
      await again.close();
    } finally {
      await remove();
    }
  });

  test('data that an earlier version kept in such a directory are moved', async () => {
    await (await open()).close();
    chmodSync(dataDir, 0o700);
    const { home, remove } = rootHomeOf(dataDir);
    try {
      const database = await open();
      expect(existsSync(data())).toBe(false);
      expect(existsSync(join(home, 'postgres', 'PG_VERSION'))).toBe(true);
      await database.close();
    } finally {
      await remove();
    }
  });

  test('an ordinary user can run the server too, and root does not change that directory', async (context) => {
    if (!(await isOpenToAll(process.cwd())))
      context.skip(`other users may not enter ${process.cwd()}`);
    chmodSync(join(dataDir, '..'), 0o1777);
    const user = await startUser({ uid: 65534, gid: 65534 });
    expect(statSync(data()).uid).toBe(65534);
    await expect(open()).rejects.toMatchObject({
      code: 'settings',
      message: expect.stringContaining(`${dataDir} belongs to user 65534`),
      cure: expect.stringContaining('run the command as that user'),
    });
    expect(await user.close()).toEqual([0, null]);
  });

  test('another user can neither reach the server nor replace it, also after it was killed', async () => {
    const database = await open();
    const socket = new URL(database.connectionString).searchParams.get('host') ?? '';
    const attack = `
      import { connect, createServer } from 'node:net';
      const outcome = (emitter, good) => new Promise((done) => emitter
        .once('error', ({ code }) => done(code)).once(good, () => done(good)));
      const path = process.argv[1] + '/.s.PGSQL.5432';
      console.log(await outcome(connect(path), 'connect'), await outcome(createServer().listen(path), 'listening'),
        await outcome(createServer().listen(process.argv[1] + '/.s.PGSQL.5433'), 'listening'));
      process.exit();`;
    const asOther = () =>
      execFileSync(process.execPath, ['--input-type=module', '-e', attack, socket], {
        ...{ uid: 4242, gid: 4242, cwd: '/', encoding: 'utf8' as const },
      }).trim();
    expect(asOther()).toBe('EACCES EACCES EACCES');
    const pid = serverPid() ?? 0;
    process.kill(pid, 'SIGKILL');
    expect(asOther()).toBe('EACCES EACCES EACCES');
    await vi.waitUntil(() => (serverPid() ?? pid) !== pid, { timeout: 60_000 });
    await database.close();
  });

  test('a password file and a log of another user are refused', async () => {
    mkdirSync(dataDir, { mode: 0o711 });
    for (const name of ['postgres.password', 'postgres.log']) {
      const path = join(dataDir, name);
      writeFileSync(path, 'known', { mode: 0o600 });
      chownSync(path, 4242, 4242);
      await expect(open()).rejects.toMatchObject({
        code: 'settings',
        message: expect.stringContaining(`${path} belongs to user 4242`),
      });
      rmSync(path);
    }
  });
});
