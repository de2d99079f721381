import { abortableSleep } from '../kernel/abortable-sleep.ts';
import { LedgerError } from '../kernel/errors.ts';
import { isAlive, readPostmaster } from './postmaster.ts';

const pollMs = 25;
const stopMs = 15_000;

/** Stops the server, sessions of others included, and waits until its process is gone. */
export async function stopServer(data: string): Promise<void> {
  const postmaster = readPostmaster(data);
  if (!postmaster) return;
  signalProcess(postmaster.pid, 'SIGINT');
  if (await isGone(postmaster.pid, stopMs)) return;
  // Without a checkpoint: the next start recovers from the log.
  signalProcess(postmaster.pid, 'SIGQUIT');
  if (await isGone(postmaster.pid, stopMs / 3)) return;
  throw new LedgerError(
    'database-unreachable',
    `the embedded PostgreSQL (process ${postmaster.pid}) does not stop`,
    { cure: `end process ${postmaster.pid}` },
  );
}

async function isGone(pid: number, withinMs: number): Promise<boolean> {
  for (let waitedMs = 0; waitedMs < withinMs; waitedMs += pollMs) {
    if (!isAlive(pid)) return true;
    await abortableSleep(pollMs);
  }
  return false;
}

function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
