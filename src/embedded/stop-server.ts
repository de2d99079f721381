import { abortableSleep } from '../kernel/abortable-sleep.ts';
import { LedgerError } from '../kernel/errors.ts';
import { isAlive, type Postmaster } from './postmaster.ts';
import { runServerProgram } from './run-server-program.ts';
import type { ServerAccount } from './server-account.ts';

const pollMs = 25;
const stopMs = 15_000;

/**
 * Stops the server, ending the sessions of all clients, and waits until its process has ended. Throws LedgerError
 * `database-unreachable` after 20 s.
 */
export async function stopServer({ pid }: Postmaster, account: ServerAccount): Promise<void> {
  await signalProcess(pid, 'INT', account);
  if (await isGone(pid, stopMs)) return;
  // SIGQUIT stops without a checkpoint; the next start recovers from the write-ahead log.
  await signalProcess(pid, 'QUIT', account);
  if (await isGone(pid, stopMs / 3)) return;
  throw new LedgerError(
    'database-unreachable',
    `the embedded PostgreSQL (process ${pid}) does not stop`,
    { cure: `run kill ${pid}` },
  );
}

async function isGone(pid: number, withinMs: number): Promise<boolean> {
  for (let waitedMs = 0; waitedMs < withinMs; waitedMs += pollMs) {
    if (!isAlive(pid)) return true;
    await abortableSleep(pollMs);
  }
  return false;
}

/**
 * Sends the signal with the rights of the server's account: the PID comes from a file, and root must not signal an
 * arbitrary process.
 */
async function signalProcess(
  pid: number,
  signal: 'INT' | 'QUIT',
  account: ServerAccount,
): Promise<void> {
  // A failure means that the process has ended, or the caller notices that it has not.
  await runServerProgram(account, '/bin/sh', ['-c', `kill -${signal} ${pid}`]).catch(
    () => undefined,
  );
}
