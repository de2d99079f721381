import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, statfsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

/** A disk of a few hundred megabytes that can be filled to its last block. */
export type SmallDisk = {
  folder: string;
  /** Takes the blocks that are free at the moment. */
  fill(): Promise<void>;
  clear(): void;
  unmount(): void;
};

/** Mounts a tmpfs; undefined if this user or machine cannot do it. */
export function mountSmallDisk(folder: string, megabytes: number): SmallDisk | undefined {
  mkdirSync(folder, { recursive: true });
  try {
    const size = `size=${megabytes}m`;
    execFileSync('mount', ['-t', 'tmpfs', '-o', `${size},mode=0755`, 'tmpfs', folder], {
      stdio: 'ignore',
    });
  } catch {
    return undefined;
  }
  const ballast = join(folder, 'ballast');
  return {
    folder,
    async fill() {
      const { bavail, bsize } = statfsSync(folder);
      await promisify(execFile)('fallocate', ['-l', String(bavail * bsize), ballast]);
    },
    clear: () => rmSync(ballast, { force: true }),
    unmount() {
      execFileSync('umount', ['-l', folder], { stdio: 'ignore', cwd: dirname(folder) });
    },
  };
}
