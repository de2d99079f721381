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
import { assertDirectory, assertPassable } from './unusable-path.ts';

/** Files of the embedded database, and the account that runs its server. */
export type ServerPlace = { files: ServerFiles; account: ServerAccount };

/**
 * Chooses the place of a data directory's database, existing or new. As root, the server runs with another account. If
 * that account cannot reach the directory, or the path is too long for a socket, the place is below
 * `/var/lib/wallet-ledger`.
 */
async function choosePlace(dataDir: string): Promise<ServerPlace> {
  const given = locateServerFiles(dataDir);
  const other = locateServerFiles(join(rootHome, shortNameOf(given.home)));
  const account = await chooseServerAccount([other.data, given.data]);
  if (account.owner === null) return { files: given, account };
  const isUsable = (await isReachable(given.home, account)) && isSocketPathShort(given.data);
  // A database that was moved once keeps its place.
  return { files: isUsable && !(await exists(other.data)) ? given : other, account };
}

/**
 * Returns true if the data directory has a database, in either place. Creates nothing. Throws LedgerError `settings` if
 * this user cannot use the path.
 */
export async function hasDatabase(dataDir: string): Promise<boolean> {
  const { files } = await choosePlace(dataDir);
  const given = locateServerFiles(dataDir);
  await assertDirectory(given.home);
  await assertPassable(given.data);
  return (await exists(files.data)) || (await exists(given.data));
}

/** Creates the place's home directory, and moves the files of an earlier version there from the data directory. */
export async function preparePlace(
  dataDir: string,
  log: Log,
  signal: AbortSignal,
): Promise<ServerPlace> {
  const { files, account } = await choosePlace(dataDir);
  const given = locateServerFiles(dataDir);
  await assertDirectory(given.home);
  // Checks the files before anything is created, and again after it exists.
  assertOwnFiles(given, account.owner);
  await makeHome(files);
  assertOwnFiles(files, account.owner);
  if (files.home === given.home || (await exists(files.data))) return { files, account };
  if (await exists(given.data)) await moveFiles(given, files, account, signal);
  log.warn(
    { dataDir: given.home, place: files.home },
    `the embedded database is in ${files.home}: PostgreSQL cannot run as root, and its user has no access to LEDGER_DATA_DIR`,
  );
  return { files, account };
}

/** Moves the data last: once the data are in the new place, the move is complete. */
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
        { cause: error, cure: `move it with mv, or run the command as a user other than root` },
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
