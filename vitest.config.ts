import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/longest-first.ts';

export default defineConfig({
  test: {
    setupFiles: ['test/support/fixed-seed.ts'],
    globalSetup: ['test/support/build-program.ts', 'test/support/global-setup.ts'],
    include: ['test/**/*.test.ts'],
    // Bounds for what hangs. Beside a busy neighbour everything takes several times as long.
    testTimeout: 90_000,
    hookTimeout: 120_000,
    // Two cores, and files that mostly wait.
    maxWorkers: 4,
    // Modules are loaded once a worker, not once a file: a tenth of the time. Each file puts back what it stubs.
    isolate: false,
    sequence: { sequencer: LongestFirst },
  },
});
