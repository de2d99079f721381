import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The clock of one process, which can be moved forward and back while it runs. */
export type FakeClock = {
  /** For the environment of the process. */
  env: Record<string, string>;
  /** Seconds added to the clock of the machine from now on. */
  step(seconds: number): void;
};

const folders = ['x86_64-linux-gnu', 'aarch64-linux-gnu', ''].flatMap((platform) =>
  ['/usr/lib', '/usr/local/lib'].map((folder) => join(folder, platform, 'faketime')),
);

/** The path of libfaketime for programs with threads, where this machine has it. */
export function fakeTimeLibrary(): string | undefined {
  return folders.map((folder) => join(folder, 'libfaketimeMT.so.1')).find(existsSync);
}

export function createFakeClock(library: string, folder: string): FakeClock {
  const file = join(folder, 'clock-offset');
  const step = (seconds: number) =>
    writeFileSync(file, `${seconds < 0 ? '-' : '+'}${Math.abs(seconds)}\n`);
  step(0);
  return {
    env: {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: '1',
      DONT_FAKE_MONOTONIC: '1',
      // Shared memory of its own would outlive a killed process.
      FAKETIME_DISABLE_SHM: '1',
    },
    step,
  };
}
