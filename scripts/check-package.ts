/**
 * `npm run check-package`: packs the package, checks its entries with publint and its types with attw, installs it into
 * an empty folder, and runs its demo there. Needs the built program and a registry; says so and ends with 0 where there
 * is none.
 */
import { execFileSync, type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Exact versions. They are not among the dependencies: attw alone brings a second TypeScript. */
const publint = 'publint@0.3.25';
const attw = '@arethetypeswrong/cli@0.18.5';
const unreachable = /EAI_AGAIN|ENOTFOUND|ECONNREFUSED|ETIMEDOUT|ENOTCACHED/;
const timeout = 300_000;

const folder = mkdtempSync(join(tmpdir(), 'wallet-ledger-package-'));
// Root's embedded PostgreSQL, which is not root, passes through.
chmodSync(folder, 0o711);
try {
  process.exitCode = check() ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function check(): boolean {
  const args = ['pack', '--ignore-scripts', '--json', '--pack-destination', folder];
  const [packed] = JSON.parse(execFileSync('npm', args, { encoding: 'utf8' })) as [
    { filename: string; entryCount: number; unpackedSize: number },
  ];
  const tarball = join(folder, packed.filename);
  say(`${packed.filename}: ${packed.entryCount} files, ${packed.unpackedSize} bytes`);
  const empty = { cwd: folder, encoding: 'utf8', timeout } as const;
  writeFileSync(join(folder, 'package.json'), '{"private": true, "type": "module"}');
  const installed = spawnSync('npm', ['install', '--no-audit', '--no-fund', tarball], empty);
  if (installed.status !== 0 && unreachable.test(installed.stderr)) {
    say('skipped: no registry');
    return true;
  }
  const env = { PATH: process.env['PATH'] ?? '', HOME: folder };
  return [
    judge('npm install', installed),
    judge('publint', spawnSync('npx', ['--yes', publint, tarball, '--strict'], empty)),
    judge('attw', spawnSync('npx', ['--yes', attw, tarball, '--profile', 'esm-only'], empty)),
    judge('demo', spawnSync('npx', ['wallet-ledger', 'demo', '--once'], { ...empty, env })),
  ].every(Boolean);
}

function judge(name: string, { status, stdout, stderr }: SpawnSyncReturns<string>): boolean {
  say(`${name}: ${status === 0 ? 'ok' : `failed (${status})\n${stdout}${stderr}`}`);
  return status === 0;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
