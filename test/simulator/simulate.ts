/** `npm run simulate -- [--seed N] [--interleavings N] [--days N] [--only part]`; exits with 1 on a violation. */
import { parseArgs } from 'node:util';
import { allParts } from './all-parts.ts';
import type { PartName } from './part.ts';
import { type PartReport, runDays } from './run-part.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    interleavings: { type: 'string', default: '10000' },
    days: { type: 'string', default: '30' },
    only: { type: 'string' },
  },
});
const names = Object.keys(allParts) as PartName[];
if (values.only !== undefined && !names.includes(values.only as PartName)) {
  process.stderr.write(`--only is one of ${names.join(', ')}\n`);
  process.exit(2);
}

const seed = Number(values.seed);
const days = Number(values.days);
let isBroken = false;

for (const name of names) {
  if (values.only !== undefined && values.only !== name) continue;
  tell(await allParts[name]({ seed, interleavings: Number(values.interleavings) }));
  if (name === 'watchdog' && days > 0) tell(await runDays(seed, days));
}
process.exitCode = isBroken ? 1 : 0;

function tell(report: PartReport): void {
  const { part, interleavings, simulatedMs, steps, tookMs, processorMs, failure } = report;
  const words = [
    part.padEnd(8),
    `${interleavings} interleavings`,
    `${(simulatedMs / 86_400_000).toFixed(1)} days simulated`,
    `${steps} steps`,
    `${failure?.violations.length ?? 0} violations`,
    `${(tookMs / 1_000).toFixed(1)} s (${(processorMs / 1_000).toFixed(1)} s of processor)`,
    `${Math.round((interleavings / tookMs) * 60_000)} interleavings per minute`,
    `${Math.round((interleavings / processorMs) * 60_000)} per minute of processor`,
  ];
  process.stdout.write(`${words.join(', ')}\n`);
  if (!failure) return;
  isBroken = true;
  for (const violation of failure.violations) process.stdout.write(`  violated: ${violation}\n`);
  const replay =
    part === 'days'
      ? `--seed ${failure.seed} --only watchdog --interleavings 0 --days ${days}`
      : `--seed ${failure.seed} --only ${part} --interleavings 1 --days 0`;
  process.stdout.write(`  replay: npm run simulate -- ${replay}\n`);
}
