import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { bundledProgram } from '../support/bundled-program.ts';
import { redisProgram } from '../support/redis-program.ts';

const tsx = createRequire(import.meta.url).resolve('tsx/cli');
const minutes = 1;
/** Start, faults, rest, end. */
const timeoutMs = 600_000;

/** Depends on the load of the machine: checked by `npm run chaos`, not here. */
const timedPromise = 'recovery.in-time';

/** Part of `report.json` that is checked here. */
type Outcome = {
  faults: { kind: string; made: number; enough: number }[];
  invariants: { id: string; violations: number; samples: unknown[] }[];
};

/** A run like that of `npm run chaos`; the program is already built. `outcome` is null if there was none. */
async function runChaos(args: string[]) {
  const out = mkdtempSync(join(tmpdir(), 'wallet-ledger-chaos-'));
  const child = spawn(
    process.execPath,
    [tsx, resolve('test/chaos/run-chaos.ts'), '--program', bundledProgram, '--out', out, ...args],
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
  const outcome = readOutcome(join(out, 'report.json'));
  // The files of a failed run are kept for its analysis.
  if (code === 0) rmSync(out, { recursive: true, force: true });
  return { code, report: output, outcome };
}

function readOutcome(file: string): Outcome | null {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return null;
  }
}

/** Every guarantee was checked and held, and there were enough faults to break it. */
function expectPromisesKept({ report, outcome }: Awaited<ReturnType<typeof runChaos>>) {
  if (outcome === null) throw new Error(`No outcome: ${report}`);
  const judged = outcome.invariants.filter(({ id }) => id !== timedPromise);
  expect(judged.length).toBeGreaterThan(0);
  expect(
    judged.filter(({ violations }) => violations > 0),
    report,
  ).toEqual([]);
  expect(
    outcome.faults.filter(({ made, enough }) => made < enough),
    report,
  ).toEqual([]);
}

test.concurrent('every guarantee holds during a minute of every fault with the queue in PostgreSQL', {
  timeout: timeoutMs,
  retry: 0,
}, async () => {
  expectPromisesKept(await runChaos(['--minutes', String(minutes), '--seed', '20']));
});

test.concurrent('every guarantee holds during a minute of every fault with the queue in Redis', {
  timeout: timeoutMs,
  retry: 0,
}, async (context) => {
  if (!redisProgram()) return context.skip('no redis-server program');
  const args = ['--minutes', String(minutes), '--seed', '23', '--queue', 'redis'];
  expectPromisesKept(await runChaos(args));
});

test('wrong options are refused with an explanation', async () => {
  const run = await runChaos(['--focus', 'nonsense', '--minutes', '1']);
  expect(run.report).toContain('--focus: one of kills, answers');
  expect(run.code).toBe(2);
}, 60_000);
