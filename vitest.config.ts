import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/longest-first.ts';
import { SecondTries } from './test/support/second-tries.ts';

export default defineConfig({
  test: {
    setupFiles: ['test/support/fixed-seed.ts'],
    globalSetup: ['test/support/build-program.ts', 'test/support/global-setup.ts'],
    include: ['test/**/*.test.ts'],
    // Bounds for what hangs. Beside a busy neighbour everything takes several times as long.
    testTimeout: 90_000,
    hookTimeout: 120_000,
    // One test of thousands may miss its moment on a busy machine. The run names each one that needed a second try. A
    // property draws the same cases again, and a run of faults is never repeated (test/chaos).
    retry: 1,
    reporters: ['default', new SecondTries()],
    // Two cores, and files that mostly wait.
    maxWorkers: 4,
    // Modules are loaded once a worker, not once a file: a tenth of the time. Each file puts back what it stubs.
    isolate: false,
    sequence: { sequencer: LongestFirst },
  },
});
