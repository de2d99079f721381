import { execFileSync } from 'node:child_process';

/** The tests that start processes run what users run: the compiled program. Types are for `npm run check`. */
export function setup(): void {
  execFileSync(
    process.execPath,
    ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json', '--noCheck'],
    { stdio: 'inherit' },
  );
}
