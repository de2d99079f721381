/**
 * `npm run year -- [--days N] [--coins N] [--per-day N]`: a wallet's year in about an hour. The clocks of this process
 * and its PostgreSQL advance by twelve hours at a time (libfaketime), and all jobs run once at each time. After a
 * month and at the end a daemon is started, and its `/metrics`, `status` and the sizes of the tables are measured.
 * Exits with 1 if anything except the rows that are kept for ever has grown by more than a factor of 1.3.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createFakeClock, fakeTimeLibrary } from '../chaos/fake-clock.ts';
import { liveOneYear } from './live-one-year.ts';

const { values } = parseArgs({
  options: {
    days: { type: 'string', default: '365' },
    coins: { type: 'string', default: '50' },
    'per-day': { type: 'string', default: '1000' },
  },
});

const file = process.env['FAKETIME_TIMESTAMP_FILE'];
if (file === undefined) process.exitCode = await runUnderFakeClock();
else {
  const year = {
    days: Number(values.days),
    coins: Number(values.coins),
    perDay: Number(values['per-day']),
  };
  const findings = await liveOneYear(year, join(file, '..'));
  process.stdout.write(findings.map((line) => `grew: ${line}\n`).join(''));
  process.exit(findings.length === 0 ? 0 : 1);
}

/** Runs this program again with an adjustable clock. Resolves to its exit code. */
async function runUnderFakeClock(): Promise<number> {
  const library = fakeTimeLibrary();
  if (library === undefined) {
    process.stderr.write('libfaketime is missing: install the package faketime\n');
    return 2;
  }
  const folder = await mkdtemp(join(tmpdir(), 'wallet-ledger-year-'));
  // PostgreSQL, which under root has an account of its own, reads the clock here.
  await chmod(folder, 0o755);
  const { env } = createFakeClock(library, folder);
  const args = [...process.execArgv, fileURLToPath(import.meta.url), ...process.argv.slice(2)];
  const child = spawn(process.execPath, args, {
    stdio: 'inherit',
    env: { ...process.env, ...env },
  });
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => child.kill(name));
  const [code] = await once(child, 'close');
  await rm(folder, { recursive: true, force: true });
  return Number(code ?? 1);
}
