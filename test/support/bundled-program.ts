import { resolve } from 'node:path';

/** Output file of test/support/build-program.ts, with the program in one file. */
export const bundleFolder = 'dist-tests';

/** The compiled program, as its users run it. */
export const compiledProgram = resolve('dist/src/cli/main.js');

/** The bundled program, which starts in half the processor time of the compiled modules. */
export const bundledProgram = resolve(bundleFolder, 'main.cjs');
