import { chmodSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { freemem } from 'node:os';

const memory = '/dev/shm';
/** Linux's type of a file system that is held in memory (TMPFS_MAGIC). */
const inMemory = 0x01021994;
/** Room for four files' servers and databases side by side, several times over; the programs need as much again. */
const roomMin = 4 * 1024 ** 3;

/**
 * Puts the run's temporary files, the data of its servers among them, in memory where there is room. The test server
 * makes and drops a database of a thousand files for almost every test, which costs ext4 five times the processor time
 * of a file system in memory. A TMPDIR that is set stays.
 */
export function setup(): (() => void) | undefined {
  if (process.env['TMPDIR'] || !hasRoom()) return undefined;
  const folder = mkdtempSync(`${memory}/wallet-ledger-tests-`);
  // Open to PostgreSQL's account, and to others like the system's own folder for temporary files.
  chmodSync(folder, 0o1777);
  process.env['TMPDIR'] = folder;
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

function hasRoom(): boolean {
  try {
    const { type, bavail, bsize } = statfsSync(memory);
    return type === inMemory && Math.min(bavail * bsize, freemem() / 2) >= roomMin;
  } catch {
    return false;
  }
}
