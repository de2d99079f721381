import { execFile } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

const program = resolve('dist/src/cli/main.js');
const isRoot = process.getuid?.() === 0;
const env = {
  WALLET_BASE_URL: 'http://127.0.0.1:9/api',
  WALLET_API_SECRET: '11'.repeat(32),
};

/** Runs the program as an ordinary user, for whom directories are closed. */
function run(args: string[], dataDir: string) {
  return new Promise<{ code: unknown; stderr: string }>((done) => {
    execFile(
      process.execPath,
      [program, ...args],
      {
        cwd: '/',
        env: { PATH: process.env['PATH'] ?? '', ...env, LEDGER_DATA_DIR: dataDir },
        ...(isRoot && { uid: 65_534, gid: 65_534 }),
      },
      (error, _stdout, stderr) => done({ code: error ? error.code : 0, stderr }),
    );
  });
}

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'wallet-ledger-closed-'));
  onTestFinished(() => {
    chmodSync(made, 0o700);
    rmSync(made, { recursive: true });
  });
  return made;
}

test('a data directory that this user may not use, or that is a file, is a mistake of the settings', async () => {
  const closed = folder();
  chmodSync(closed, 0o000);
  const unwritable = folder();
  chmodSync(unwritable, 0o555);
  const open = folder();
  chmodSync(open, 0o755);
  const file = join(open, 'file');
  writeFileSync(file, '');
  const runs: [string, string][] = [
    ['sync', closed],
    ['status', closed],
    ['status', join(closed, 'below')],
    ['sync', join(unwritable, 'below')],
    ['sync', file],
    ['status', join(file, 'below')],
  ];
  const ended = await Promise.all(runs.map(([command, dataDir]) => run([command], dataDir)));
  for (const [index, { code, stderr }] of ended.entries())
    expect([runs[index], code, stderr]).toEqual([
      runs[index],
      2,
      expect.stringContaining('LEDGER_DATA_DIR'),
    ]);
}, 120_000);
