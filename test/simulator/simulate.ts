/**
 * `npm run simulate -- [--seed N] [--interleavings N] [--days N] [--only scenario]`: plays the seeds on all cores; exits
 * with 1 on a violation.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { allScenarios } from './all-scenarios.ts';
import type { Share } from './play-share.ts';
import type { ScenarioReport } from './run-scenario.ts';
import type { ScenarioName } from './scenario.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    interleavings: { type: 'string', default: '10000' },
    days: { type: 'string', default: '30' },
    only: { type: 'string' },
  },
});
const known = Object.keys(allScenarios) as ScenarioName[];
const names = known.filter((name) => values.only === undefined || values.only === name);
if (names.length === 0) {
  process.stderr.write(`--only is one of ${known.join(', ')}\n`);
  process.exit(2);
}

// Next to this file, which runs compiled: a loader that preserves function names costs a third of the speed.
const playShare = new URL(import.meta.url.replace('simulate.', 'play-share.'));
const seed = Number(values.seed);
const interleavings = Number(values.interleavings);
const days = Number(values.days);
const shares = Math.max(1, Math.min(availableParallelism(), interleavings));
const reports = new Map<string, ScenarioReport[]>();

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
  child.on('message', (report: ScenarioReport) => {
    const parts = [...(reports.get(report.scenario) ?? []), report];
    reports.set(report.scenario, parts);
    if (report.scenario === 'days' || parts.length === shares) tell(merge(parts));
  });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`a share of the simulation ended with ${code}`);
}

function merge(parts: ScenarioReport[]): ScenarioReport {
  const [first] = parts.toSorted(
    (a, b) => (a.failure?.seed ?? Infinity) - (b.failure?.seed ?? Infinity),
  );
  const sum = (of: (report: ScenarioReport) => number) =>
    parts.reduce((all, one) => all + of(one), 0);
  return {
    scenario: first?.scenario ?? 'days',
    interleavings: sum((one) => one.interleavings),
    simulatedMs: sum((one) => one.simulatedMs),
    steps: sum((one) => one.steps),
    tookMs: Math.max(...parts.map((one) => one.tookMs)),
    processorMs: sum((one) => one.processorMs),
    failure: first?.failure ?? null,
  };
}

function tell(report: ScenarioReport): void {
  const { scenario, simulatedMs, steps, tookMs, processorMs, failure } = report;
  const words = [
    scenario.padEnd(8),
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
    scenario === 'days'
      ? `--seed ${failure.seed} --only watchdog --interleavings 0 --days ${days}`
      : `--seed ${failure.seed} --only ${scenario} --interleavings 1 --days 0`;
  process.stdout.write(`  replay: npm run simulate -- ${replay}\n`);
}
