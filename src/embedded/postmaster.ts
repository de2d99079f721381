import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { abortableSleep } from '../kernel/abortable-sleep.ts';
import { readOwnFile } from './own-file.ts';

/** What the server's process file says. */
export type Postmaster = {
  pid: number;
  /** Null while the server has not come that far, and for one that listens on TCP alone. */
  socketDirectory: string | null;
  /** Key and number of its shared memory; null while it has none. */
  sharedMemory: { key: number; id: number } | null;
  isReady: boolean;
};

/** How long a server that ends may take from giving up its memory to removing its process file. */
const partingMs = 250;

/** Reads `postmaster.pid` of a data directory; null when no server has left one there. */
export function readPostmaster(data: string): Postmaster | null {
  // By line: process, directory, start time, port, socket directory, address, shared memory, state.
  const lines = (readOwnFile(processFile(data)) ?? '').split('\n');
  // Below zero in PostgreSQL's single-user mode, which serves nobody.
  const pid = Math.abs(Number(lines[0]));
  if (!Number.isInteger(pid) || pid === 0) return null;
  const [key, id] = (lines[6]?.trim() ?? '').split(/\s+/).map(Number);
  return {
    pid,
    socketDirectory: lines[4]?.trim() || null,
    sharedMemory: key && id !== undefined ? { key, id } : null,
    isReady: lines[7]?.trim() === 'ready',
  };
}

/**
 * The server that runs on a data directory, or null. A file that a crash left behind is removed where the number in it
 * is by now another process's, or that of one that has ended unnoticed: PostgreSQL would refuse to start.
 */
export async function findPostmaster(
  data: string,
  signal: AbortSignal,
): Promise<Postmaster | null> {
  const postmaster = readPostmaster(data);
  if (!postmaster) return null;
  if (isServing(postmaster)) return postmaster;
  if (!isKnown(postmaster.pid)) return null;
  await abortableSleep(partingMs, signal);
  const later = readPostmaster(data);
  if (later?.pid === postmaster.pid && !isServing(later))
    rmSync(processFile(data), { force: true });
  return null;
}

/** Whether the process runs. One that has ended, but that nobody has waited for yet, does not. */
export function isAlive(pid: number): boolean {
  return isKnown(pid) && !/^\d+ \(.*\) [ZX]/s.test(readOr(`/proc/${pid}/stat`, ''));
}

/** Whether the server or any process that outlives it still holds the shared memory, as PostgreSQL asks itself. */
function isServing({ pid, sharedMemory }: Postmaster): boolean {
  const segments = readOr('/proc/sysvipc/shm', '');
  if (segments === '' || !sharedMemory) return isAlive(pid);
  return segments.split('\n').some((line) => {
    // By column: key, id, permissions, size, creator, last user, attached processes.
    const [key, id, , , , , attached = 0] = line.trim().split(/\s+/).map(Number);
    // The file has the key without its sign.
    return (
      key !== undefined &&
      key >>> 0 === sharedMemory.key >>> 0 &&
      id === sharedMemory.id &&
      attached > 0
    );
  });
}

function isKnown(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function readOr(path: string, otherwise: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return otherwise;
  }
}

function processFile(data: string): string {
  return join(data, 'postmaster.pid');
}
