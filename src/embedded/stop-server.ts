import { abortableSleep } from '../kernel/abortable-sleep.ts';
import { LedgerError } from '../kernel/errors.ts';
import { isAlive, type Postmaster } from './postmaster.ts';
import { runServerProgram } from './run-server-program.ts';
import type { ServerAccount } from './server-account.ts';

const pollMs = 25;
const stopMs = 15_000;

/** Stops the server, sessions of others included, and waits until its process is gone. */
export async function stopServer({ pid }: Postmaster, account: ServerAccount): Promise<void> {
  await signalProcess(pid, 'INT', account);
  if (await isGone(pid, stopMs)) return;
  // Without a checkpoint: the next start recovers from the log.
  await signalProcess(pid, 'QUIT', account);
  if (await isGone(pid, stopMs / 3)) return;
  throw new LedgerError(
    'database-unreachable',
    `the embedded PostgreSQL (process ${pid}) does not stop`,
    { cure: `end process ${pid}` },
  );
}

async function isGone(pid: number, withinMs: number): Promise<boolean> {
  for (let waitedMs = 0; waitedMs < withinMs; waitedMs += pollMs) {
    if (!isAlive(pid)) return true;
    await abortableSleep(pollMs);
  }
  return false;
}

/** With the rights of the server's account: its file names the process, and root must not end just any. */
async function signalProcess(
  pid: number,
  signal: 'INT' | 'QUIT',
  account: ServerAccount,
): Promise<void> {
  // One that has gone meanwhile is what is wanted; one that stays is noticed by the caller.
  await runServerProgram(account, '/bin/sh', ['-c', `kill -${signal} ${pid}`]).catch(
    () => undefined,
  );
}
