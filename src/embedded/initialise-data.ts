import { randomBytes } from 'node:crypto';
import { chown, mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isAlive } from './postmaster.ts';
import { runServerProgram } from './run-server-program.ts';
import type { ServerAccount } from './server-account.ts';
import type { ServerBinaries } from './server-binaries.ts';
import type { ServerFiles } from './server-files.ts';
import { databaseName, handOverRoles, setUpRoles, setupUserName } from './server-roles.ts';

/** Parts that are needed to run PostgreSQL's programs on the files. */
type Parts = {
  files: ServerFiles;
  binaries: ServerBinaries;
  account: ServerAccount;
  password: string;
};

const initdbArguments = [
  `--username=${setupUserName}`,
  '--auth=scram-sha-256',
  '--encoding=UTF8',
  '--locale=C',
  '--locale-provider=builtin',
  '--builtin-locale=C.UTF-8',
  '--no-instructions',
];

/**
 * Creates the data directory with its database if it is missing. It is built under a temporary name and then renamed,
 * so it is never incomplete. If several processes build at once, one of them wins.
 */
export async function initialiseData(parts: Parts, signal: AbortSignal): Promise<void> {
  const { files, binaries, account, password } = parts;
  if (await exists(files.data)) return;
  await removeAbandonedDrafts(files);
  const draft = `${files.data}.draft-${process.pid}-${randomBytes(4).toString('hex')}`;
  try {
    await mkdir(draft, { mode: 0o700 });
    if (account.owner) await chown(draft, account.owner.uid, account.owner.gid);
    const args = [...initdbArguments, `--pwfile=${files.password}`, `--pgdata=${draft}`];
    await runServerProgram(account, binaries.initdb, args, { signal });
    await runAlone(parts, draft, 'postgres', setUpRoles(password), signal);
    await rename(draft, files.data);
  } catch (error) {
    // Renaming onto a full directory fails, which means that another process was first.
    if (!(await exists(files.data))) throw error;
  } finally {
    await removeTree(draft);
  }
}

/**
 * Removes the superuser rights of the program's role, in data of an earlier version. No server may be running on them.
 */
export async function handOverData(parts: Parts, signal: AbortSignal): Promise<void> {
  const script = handOverRoles(parts.password);
  await runAlone(parts, parts.files.data, databaseName, script, signal);
}

/** Runs commands in PostgreSQL's single-user mode, as the superuser; stops at the first that fails. */
async function runAlone(
  { binaries, account }: Parts,
  data: string,
  database: string,
  input: string,
  signal: AbortSignal,
): Promise<void> {
  // The log becomes part of error messages, so it must not contain the commands: one of them has the password.
  const settings = ['exit_on_error=on', 'log_checkpoints=off', 'log_min_error_statement=panic'];
  const options = settings.flatMap((setting) => ['-c', setting]);
  const args = ['--single', '-j', '-D', data, ...options, database];
  await runServerProgram(account, binaries.postgres, args, { input, signal });
}

/** Removes drafts of processes that were killed. */
async function removeAbandonedDrafts(files: ServerFiles): Promise<void> {
  for (const name of await readdir(files.home)) {
    const match = /^postgres\.draft-(\d+)-/.exec(name);
    if (match && !isAlive(Number(match[1]))) await removeTree(join(files.home, name));
  }
}

/** Retries, because a program that was just stopped may still write a file. */
async function removeTree(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
}

async function exists(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  );
}
