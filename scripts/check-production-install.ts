/**
 * `npx tsx scripts/check-production-install.ts`: installs what production needs into a copy, without the packages of
 * development and without any install script, and runs the program from it. Needs the built program and a registry or
 * npm's cache; says so and ends with 0 where there is neither.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const copied = ['package.json', 'package-lock.json', 'dist', 'migrations'];
const unreachable = /EAI_AGAIN|ENOTFOUND|ECONNREFUSED|ETIMEDOUT|ENOTCACHED/;
const installMs = 300_000;
const demoMs = 120_000;

const home = mkdtempSync(join(tmpdir(), 'wallet-ledger-install-'));
// Root's embedded PostgreSQL, which is not root, passes through.
chmodSync(home, 0o711);
try {
  process.exitCode = install() ? demonstrate() : 0;
} finally {
  rmSync(home, { recursive: true, force: true });
}

function install(): boolean {
  for (const name of copied) cpSync(name, join(home, name), { recursive: true });
  const { status, stderr } = spawnSync('npm', ['ci', '--omit=dev', '--ignore-scripts'], {
    cwd: home,
    encoding: 'utf8',
    timeout: installMs,
  });
  if (status === 0) return true;
  if (!unreachable.test(stderr)) throw new Error(`npm ci failed:\n${stderr}`);
  process.stdout.write('skipped: no registry, and not in npm’s cache\n');
  return false;
}

function demonstrate(): number {
  const packages = readdirSync(join(home, 'node_modules'));
  const stray = ['vitest', 'tsx', 'testcontainers'].filter((name) => packages.includes(name));
  if (stray.length > 0) throw new Error(`packages of development: ${stray.join()}`);
  const args = ['dist/src/cli/main.js', 'demo', '--once'];
  const output = execFileSync(process.execPath, args, {
    cwd: home,
    encoding: 'utf8',
    timeout: demoMs,
    env: { PATH: process.env['PATH'] ?? '', HOME: home },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const isComplete = output.includes('proven complete');
  process.stdout.write(
    `${packages.length} folders of packages; the demo is complete: ${isComplete}\n`,
  );
  return isComplete ? 0 : 1;
}
