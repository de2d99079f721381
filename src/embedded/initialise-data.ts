import { randomBytes } from 'node:crypto';
import { chown, mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isAlive } from './postmaster.ts';
import { runServerProgram } from './run-server-program.ts';
import type { ServerAccount } from './server-account.ts';
import type { ServerBinaries } from './server-binaries.ts';
import type { ServerFiles } from './server-files.ts';

export const databaseName = 'wallet_ledger';
export const userName = 'wallet_ledger';

const initdbArguments = [
  `--username=${userName}`,
  '--auth=scram-sha-256',
  '--encoding=UTF8',
  '--locale=C',
  '--locale-provider=builtin',
  '--builtin-locale=C.UTF-8',
  '--no-instructions',
];

/**
 * Makes the data directory with its database, where there is none yet. It is built under a name of its own and then
 * renamed, so that it is there whole or not at all; of several processes that build at once one wins.
 */
export async function initialiseData(
  files: ServerFiles,
  binaries: ServerBinaries,
  account: ServerAccount,
  signal: AbortSignal,
): Promise<void> {
  if (await exists(files.data)) return;
  await removeAbandonedDrafts(files);
  const draft = `${files.data}.draft-${process.pid}-${randomBytes(4).toString('hex')}`;
  try {
    await mkdir(draft, { mode: 0o700 });
    if (account.owner) await chown(draft, account.owner.uid, account.owner.gid);
    const args = [...initdbArguments, `--pwfile=${files.password}`, `--pgdata=${draft}`];
    await runServerProgram(account, binaries.initdb, args, { signal });
    await runServerProgram(account, binaries.postgres, ['--single', '-D', draft, 'postgres'], {
      input: `create database ${databaseName};\n`,
      signal,
    });
    await rename(draft, files.data);
  } catch (error) {
    // Renaming onto a full directory fails: somebody else was first.
    if (!(await exists(files.data))) throw error;
  } finally {
    await removeTree(draft);
  }
}

/** Drafts of processes that were killed. */
async function removeAbandonedDrafts(files: ServerFiles): Promise<void> {
  for (const name of await readdir(files.home)) {
    const match = /^postgres\.draft-(\d+)-/.exec(name);
    if (match && !isAlive(Number(match[1]))) await removeTree(join(files.home, name));
  }
}

/** A program that was just stopped may write one more file. */
async function removeTree(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
}

async function exists(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  );
}
