import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { abortableSleep } from '../kernel/abortable-sleep.ts';
import { readOwnFile } from './own-file.ts';

/** Content of the server's process file. */
export type Postmaster = {
  pid: number;
  /** Null early in the server's start, and for a server that listens on TCP only. */
  socketDirectory: string | null;
  /** Key and id of its shared memory; null while it has none. */
  sharedMemory: { key: number; id: number } | null;
  isReady: boolean;
};

/** Time that an ending server may take between releasing its memory and removing its process file. */
const partingMs = 250;

/** Reads `postmaster.pid` of a data directory; null when there is none. */
export function readPostmaster(data: string): Postmaster | null {
  // Lines: PID, directory, start time, port, socket directory, address, shared memory, state.
  const lines = (readOwnFile(processFile(data)) ?? '').split('\n');
  // The PID is negative in PostgreSQL's single-user mode, which accepts no clients.
  const pid = Math.abs(Number(lines[0]));
  if (!Number.isInteger(pid) || pid === 0) return null;
  const [key = '', id = ''] = (lines[6]?.trim() ?? '').split(/\s+/);
  const hasMemory = /^\d+$/.test(key) && /^\d+$/.test(id);
  return {
    pid,
    socketDirectory: lines[4]?.trim() || null,
    // PostgreSQL writes a negative key sign-extended to 64 bits, beyond what a number holds exactly.
    sharedMemory: hasMemory
      ? { key: Number(BigInt.asUintN(32, BigInt(key))), id: Number(id) }
      : null,
    isReady: lines[7]?.trim() === 'ready',
  };
}

/**
 * Returns the server that runs on a data directory, or null. Removes a stale postmaster.pid whose PID was reused or
 * belongs to a zombie; PostgreSQL would refuse to start.
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

/** Returns true if the process runs; a zombie does not count. */
export function isAlive(pid: number): boolean {
  return isKnown(pid) && !/^\d+ \(.*\) [ZX]/s.test(readOr(`/proc/${pid}/stat`, ''));
}

/**
 * Returns true if the server, or a process that outlives it, is attached to the shared memory; PostgreSQL tests the
 * same. Without that information, tests the PID.
 */
function isServing({ pid, sharedMemory }: Postmaster): boolean {
  const segments = readOr('/proc/sysvipc/shm', '');
  if (segments === '' || !sharedMemory) return isAlive(pid);
  return segments.split('\n').some((line) => {
    // Columns: key, id, permissions, size, creator, last user, attached processes.
    const [key, id, , , , , attached = 0] = line.trim().split(/\s+/).map(Number);
    // /proc has the key as signed, postmaster.pid as unsigned.
    return (
      key !== undefined && key >>> 0 === sharedMemory.key && id === sharedMemory.id && attached > 0
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
