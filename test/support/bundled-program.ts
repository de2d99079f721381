import { resolve } from 'node:path';

/** Where test/support/build-program.ts puts the program in one file. */
export const bundleFolder = 'dist-tests';

/** The program as its users run it. */
export const compiledProgram = resolve('dist/src/cli/main.js');

/** The same, which starts from the bundle in half the processor time that the compiled modules need. */
export const bundledProgram = resolve(bundleFolder, 'main.cjs');
