/**
 * `npm run simulate -- [--seed N] [--interleavings N] [--days N] [--only part]`: plays the seeds on all cores; exits
 * with 1 on a violation.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { allParts } from './all-parts.ts';
import type { PartName } from './part.ts';
import type { Share } from './play-share.ts';
import type { PartReport } from './run-part.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    interleavings: { type: 'string', default: '10000' },
    days: { type: 'string', default: '30' },
    only: { type: 'string' },
  },
});
const known = Object.keys(allParts) as PartName[];
const names = known.filter((name) => values.only === undefined || values.only === name);
if (names.length === 0) {
  process.stderr.write(`--only is one of ${known.join(', ')}\n`);
  process.exit(2);
}

// Beside this file, which is played compiled: a loader that keeps the names of functions costs a third of the pace.
const playShare = new URL(import.meta.url.replace('simulate.', 'play-share.'));
const seed = Number(values.seed);
const interleavings = Number(values.interleavings);
const days = Number(values.days);
const shares = Math.max(1, Math.min(availableParallelism(), interleavings));
const reports = new Map<string, PartReport[]>();

await Promise.all(Array.from({ length: shares }, (_, index) => play(index)));

async function play(index: number): Promise<void> {
  const from = Math.floor((interleavings * index) / shares);
  const to = Math.floor((interleavings * (index + 1)) / shares);
  const share: Share = {
    names,
    seed: seed + from,
    interleavings: to - from,
    days: index === 0 ? days : 0,
  };
  const child = fork(playShare, [JSON.stringify(share)]);
  child.on('message', (report: PartReport) => {
    const parts = [...(reports.get(report.part) ?? []), report];
    reports.set(report.part, parts);
    if (report.part === 'days' || parts.length === shares) tell(merge(parts));
  });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`a share of the simulation ended with ${code}`);
}

function merge(parts: PartReport[]): PartReport {
  const [first] = parts.toSorted(
    (a, b) => (a.failure?.seed ?? Infinity) - (b.failure?.seed ?? Infinity),
  );
  const sum = (of: (report: PartReport) => number) => parts.reduce((all, one) => all + of(one), 0);
  return {
    part: first?.part ?? 'days',
    interleavings: sum((one) => one.interleavings),
    simulatedMs: sum((one) => one.simulatedMs),
    steps: sum((one) => one.steps),
    tookMs: Math.max(...parts.map((one) => one.tookMs)),
    processorMs: sum((one) => one.processorMs),
    failure: first?.failure ?? null,
  };
}

function tell(report: PartReport): void {
  const { part, simulatedMs, steps, tookMs, processorMs, failure } = report;
  const words = [
    part.padEnd(8),
    `${report.interleavings} interleavings`,
    `${(simulatedMs / 86_400_000).toFixed(1)} days simulated`,
    `${steps} steps`,
    `${failure?.violations.length ?? 0} violations`,
    `${(tookMs / 1_000).toFixed(1)} s (${(processorMs / 1_000).toFixed(1)} s of processor)`,
    `${Math.round((report.interleavings / tookMs) * 60_000)} interleavings per minute`,
  ];
  process.stdout.write(`${words.join(', ')}\n`);
  if (!failure) return;
  process.exitCode = 1;
  for (const violation of failure.violations) process.stdout.write(`  violated: ${violation}\n`);
  const replay =
    part === 'days'
      ? `--seed ${failure.seed} --only watchdog --interleavings 0 --days ${days}`
      : `--seed ${failure.seed} --only ${part} --interleavings 1 --days 0`;
  process.stdout.write(`  replay: npm run simulate -- ${replay}\n`);
}
