import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { redisProgram } from '../support/redis-program.ts';

const tsx = createRequire(import.meta.url).resolve('tsx/cli');
const minutes = 2;
/** Start, faults, rest, end. */
const timeoutMs = 600_000;

/** A run as `npm run chaos` makes it; the program is built already. */
async function runChaos(args: string[]): Promise<{ code: number | null; report: string }> {
  const out = mkdtempSync(join(tmpdir(), 'wallet-ledger-chaos-'));
  const child = spawn(
    process.execPath,
    [tsx, resolve('test/chaos/run-chaos.ts'), '--out', out, ...args],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  onTestFinished(() => {
    child.kill('SIGINT');
  });
  const code = await new Promise<number | null>((done) => child.on('close', done));
  // What a failed run has written is worth more than a tidy folder.
  if (code === 0) rmSync(out, { recursive: true, force: true });
  return { code, report: output };
}

test.concurrent('two minutes of every fault, the queue in PostgreSQL: every promise holds', {
  timeout: timeoutMs,
  retry: 0,
}, async () => {
  const run = await runChaos(['--minutes', String(minutes), '--seed', '20']);
  expect(run.report).toContain('verdict: passed');
  expect(run.code).toBe(0);
});

test.concurrent('two minutes of every fault, the queue on Redis: every promise holds', {
  timeout: timeoutMs,
  retry: 0,
}, async (context) => {
  if (!redisProgram()) return context.skip('no redis-server program');
  const run = await runChaos(['--minutes', String(minutes), '--seed', '23', '--queue', 'redis']);
  expect(run.report).toContain('verdict: passed');
  expect(run.code).toBe(0);
});

test('what it is asked for wrongly it refuses in words', async () => {
  const run = await runChaos(['--focus', 'nonsense', '--minutes', '1']);
  expect(run.report).toContain('--focus: one of kills, answers');
  expect(run.code).toBe(2);
}, 60_000);
