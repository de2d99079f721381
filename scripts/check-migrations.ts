// Proves that the migrations and the schema agree: npm run check
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../', import.meta.url));
const kitMs = 60_000;

class Disagreement extends Error {}

function runKit(...args: string[]): void {
  const kit = join(dirname(createRequire(import.meta.url).resolve('drizzle-kit')), 'bin.cjs');
  // Without an input it cannot ask whether something was renamed: then it fails, or ends with nothing written.
  const run = spawnSync(process.execPath, [kit, ...args], {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: kitMs,
  });
  const said = `${run.stdout ?? ''}${run.stderr ?? ''}`;
  if (run.status !== 0 || /error|interactive/i.test(said)) {
    throw new Disagreement(`drizzle-kit ${args[0]} failed:\n${said || run.error?.message}`);
  }
}

function contentsOf(folder: string): Map<string, string> {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return new Map(
    names
      .filter((name) => /\.(sql|json)$/.test(name))
      .map((name) => [name, readFileSync(join(folder, name), 'utf8')]),
  );
}

/** Generates into a copy of the migrations: nothing may change there. */
function checkGenerated(): void {
  const copy = mkdtempSync(join(tmpdir(), 'wallet-ledger-migrations-'));
  try {
    cpSync(join(root, 'migrations'), copy, { recursive: true });
    const before = contentsOf(copy);
    // drizzle-kit takes its output folder as relative to where it runs, whatever it looks like.
    const out = relative(root, copy);
    runKit('generate', '--dialect=postgresql', '--schema=./src/ledger/schema/*.ts', `--out=${out}`);
    const written = [...contentsOf(copy)].filter(([name, text]) => before.get(name) !== text);
    const statements = written.filter(([name]) => name.endsWith('.sql')).map(([, text]) => text);
    if (written.length > 0) {
      throw new Disagreement(
        `the schema is ahead of the migrations; run \`npm run db:generate\`. It would write:\n${statements.join('\n')}`,
      );
    }
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

try {
  runKit('check');
  checkGenerated();
  process.stdout.write('The migrations say what the schema says.\n');
} catch (error) {
  if (!(error instanceof Disagreement)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
