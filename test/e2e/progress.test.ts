import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { programOnPath } from '../support/program-on-path.ts';
import { runProgram, startProgram } from '../support/run-cli.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { withService } from '../support/with-service.ts';

test('a service that lets wait gets a progress line within 11 s, which says so', async () => {
  const { env } = await withService({ transactions: 100, latencyMs: 60_000 });
  const startedMs = performance.now();
  const program = startProgram(['backfill'], { ...env, WALLET_TIMEOUT: '90s' });
  expect(await program.line('no answer from the service yet')).toMatch(/^progress after \d+ s: /);
  expect(performance.now() - startedMs).toBeLessThan(11_000);
  program.process.kill('SIGKILL');
}, 60_000);

test('while the database does not answer, the progress lines say that, and not that the service is silent', async () => {
  const { env } = await withService({ transactions: 100 });
  const unreachable = { ...env, DATABASE_URL: 'postgres://nobody:secret@127.0.0.1:9/none' };
  const { code, stderr } = await runProgram(['sync'], unreachable);
  expect(code).toBe(5);
  expect(stderr).toMatch(/^progress after \d+ s: waiting for the database$/m);
  expect(stderr).not.toContain('no answer from the service');
}, 120_000);

test('verify shows its progress, too', async () => {
  const { env } = await withService({ transactions: 4_000 });
  expect((await runProgram(['migrate'], env)).code).toBe(0);
  const program = startProgram(['verify'], { ...env, WALLET_MAX_RPS: '3' });
  expect(await program.line(/deposit: [\d,]+ of [\d,]+ rows · \d+ pages? read · .+ left/)).toMatch(
    /^progress after \d+ s: /,
  );
  program.process.kill('SIGKILL');
}, 60_000);

test('within a request budget it shows pages, rows, rate and time left', async () => {
  const { env } = await withService({ transactions: 4_000 });
  const program = startProgram(['backfill'], { ...env, WALLET_MAX_RPS: '3' });
  // Either list may get the first pages of the budget, so the line that shows the deposits may be a later one.
  expect(
    await program.line(
      /deposit: [\d,]+ of [\d,]+ rows · \d+ pages? read · [\d,.]+ rows\/s · .+ left/,
    ),
  ).toMatch(/^progress after \d+ s: /);
  program.process.kill('SIGKILL');
}, 60_000);

const script = programOnPath(['script']);

/** Runs the program on a terminal of 70 columns. `shown` returns what it has printed. */
function onTerminal(args: string, env: Record<string, string>) {
  const folder = mkdtempSync(join(tmpdir(), 'wallet-ledger-terminal-'));
  chmodSync(folder, 0o711);
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const line = `stty cols 70 rows 24; exec "$NODE" "$PROGRAM" ${args}`;
  const terminal: ChildProcess = spawn(script ?? 'script', ['-qefc', line, '/dev/null'], {
    cwd: folder,
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: folder,
      NODE: process.execPath,
      PROGRAM: resolve('dist/src/cli/main.js'),
      ...env,
    },
  });
  let text = '';
  terminal.stdout?.on('data', (more) => {
    text += more;
  });
  const ended = new Promise<number | null>((done) => terminal.on('close', done));
  const until = (words: RegExp) =>
    vi.waitUntil(() => words.test(text), { timeout: 150_000, interval: 50 });
  return { terminal, folder, ended, until, shown: () => text.replaceAll('\u001b', '␛') };
}

test.skipIf(!script)(
  'Ctrl-C on a terminal ends a backfill below its bars, with 130',
  async () => {
    const { env } = await withService({ transactions: 4_000 });
    const { terminal, until, shown, ended } = onTerminal('backfill', {
      ...env,
      WALLET_MAX_RPS: '3',
    });
    await until(/deposit +[█░]+ [\d,]+ of [\d,]+ rows/);
    terminal.stdin?.write('\x03');
    expect(await ended).toBe(130);
    // The line of the log begins where a line was cleared, above the bars.
    expect(shown()).toMatch(/␛\[2K[^█░\n]*INFO\S*: \S*stopping/);
    expect(shown()).toMatch(/stopped by SIGINT; run the command again/);
  },
  180_000,
);

test.skipIf(!script)(
  'a demo names what arrives and repeats where to look; when its terminal is closed, no PostgreSQL is left',
  async () => {
    const { terminal, folder, until, shown } = onTerminal('demo', { HTTP_PORT: '0' });
    await until(/\d {2}(BTC|ETH|LTC|TRX|USDC|USDT) +[\d.]+ {2}\w+ +\d{16,} {2}transaction\.seen/);
    await vi.waitUntil(() => (shown().match(/Status page: http/g) ?? []).length > 1, {
      timeout: 150_000,
      interval: 100,
    });
    const running = join(folder, '.wallet-ledger', 'demo', 'postgres', 'postmaster.pid');
    const wide = shown()
      .split(/\r?\n/)
      .filter((line) => line.length > 70 && !/␛|psql|select|transaction\./.test(line));
    expect(wide).toEqual([]);
    expect(existsSync(running)).toBe(true);
    terminal.kill('SIGKILL');
    await vi.waitUntil(() => !existsSync(running), { timeout: 60_000, interval: 100 });
  },
  360_000,
);

test('a reader of the output who leaves is no failure', () => {
  const folder = temporaryFolder();
  const line = '{ "$NODE" "$PROGRAM" doctor 2>said; echo $? >code; } | true';
  execFileSync('sh', ['-c', line], {
    cwd: folder,
    env: {
      PATH: process.env['PATH'] ?? '',
      NODE: process.execPath,
      PROGRAM: resolve('dist/src/cli/main.js'),
      WALLET_BASE_URL: 'http://127.0.0.1:9',
      WALLET_API_SECRET: '11'.repeat(32),
    },
  });
  expect(readFileSync(join(folder, 'said'), 'utf8')).not.toContain('EPIPE');
  // The service is not there.
  expect(readFileSync(join(folder, 'code'), 'utf8')).toBe('4\n');
}, 60_000);
