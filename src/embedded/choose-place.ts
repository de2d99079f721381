import { lstat, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { LedgerError } from '../kernel/errors.ts';
import type { Log } from '../kernel/log.ts';
import { assertOwnFiles } from './assert-own-files.ts';
import { findPostmaster } from './postmaster.ts';
import { chooseServerAccount, isReachable, type ServerAccount } from './server-account.ts';
import { locateServerFiles, makeHome, rootHome, type ServerFiles } from './server-files.ts';
import { isSocketPathShort, shortNameOf } from './socket-path.ts';
import { stopServer } from './stop-server.ts';

/** The files of the embedded database, and who runs its server. */
export type ServerPlace = { files: ServerFiles; account: ServerAccount };

/**
 * Where the database of a data directory is or is to be. PostgreSQL does not run as root: where its account cannot
 * enter root's directory, the place is one of the directory's own below `/var/lib/wallet-ledger`.
 */
async function choosePlace(dataDir: string): Promise<ServerPlace> {
  const given = locateServerFiles(dataDir);
  const other = locateServerFiles(join(rootHome, shortNameOf(given.home)));
  const account = await chooseServerAccount([other.data, given.data]);
  if (account.owner === null) return { files: given, account };
  const isUsable = (await isReachable(given.home, account)) && isSocketPathShort(given.data);
  // What was moved once stays where it is.
  return { files: isUsable && !(await exists(other.data)) ? given : other, account };
}

/** Whether the data directory has a database, wherever it is. Makes nothing. */
export async function hasDatabase(dataDir: string): Promise<boolean> {
  const { files } = await choosePlace(dataDir);
  return (await exists(files.data)) || (await exists(locateServerFiles(dataDir).data));
}

/** Makes the place ready for use: the directory, and in it what an earlier version kept in the data directory itself. */
export async function preparePlace(
  dataDir: string,
  log: Log,
  signal: AbortSignal,
): Promise<ServerPlace> {
  const { files, account } = await choosePlace(dataDir);
  const given = locateServerFiles(dataDir);
  // Before anything is made there, and after it is there.
  assertOwnFiles(given, account.owner);
  await makeHome(files);
  assertOwnFiles(files, account.owner);
  if (files.home === given.home || (await exists(files.data))) return { files, account };
  if (await exists(given.data)) await moveFiles(given, files, account, signal);
  log.warn(
    { dataDir: given.home, place: files.home },
    `the embedded database is kept in ${files.home}: PostgreSQL does not run as root, and its user cannot work in LEDGER_DATA_DIR`,
  );
  return { files, account };
}

/** The data go last: where they are, all is. */
async function moveFiles(
  from: ServerFiles,
  to: ServerFiles,
  account: ServerAccount,
  signal: AbortSignal,
): Promise<void> {
  const running = await findPostmaster(from.data, signal);
  if (running) await stopServer(running, account);
  for (const name of ['password', 'log', 'data'] as const) {
    await rename(from[name], to[name]).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return;
      throw new LedgerError(
        'database-unreachable',
        `${from[name]} must move to ${to[name]}, and cannot: ${error.message}`,
        { cause: error, cure: `move it with mv, or run the command as an ordinary user` },
      );
    });
  }
}

async function exists(path: string): Promise<boolean> {
  return await lstat(path).then(
    () => true,
    () => false,
  );
}
