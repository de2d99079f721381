/**
 * Plays histories of a lying service in chunks, each with its own seed, and prints the broken guarantees: `npm run
 * histories -- --seed 1 --runs 1000000`. A failure is shrunk with `HISTORY_SEED` and drawn-histories.test.ts.
 */
import { parseArgs } from 'node:util';
import fc from 'fast-check';
import { histories } from './draw-history.ts';
import { playHistory } from './play-history.ts';
import { newFigures } from './proof-judge.ts';

const chunkRuns = 2_000;
/** Number of chunks after which the figures so far are printed: a run of a million takes hours on a busy machine. */
const reportedChunks = 10;

const { values } = parseArgs({
  options: { seed: { type: 'string', default: '1' }, runs: { type: 'string', default: '20000' } },
});
const figures = newFigures();
const broken = new Map<string, number>();
const chunks = Math.ceil(Number(values.runs) / chunkRuns);
for (let chunk = 0; chunk < chunks; chunk += 1) {
  const seed = Number(values.seed) + chunk;
  for (const [index, history] of fc.sample(histories, { numRuns: chunkRuns, seed }).entries()) {
    const violations = await playHistory(history, figures);
    for (const violation of new Set(violations.map(kindOf)))
      broken.set(violation, (broken.get(violation) ?? 0) + 1);
    if (violations.length > 0) say(`seed ${seed}, run ${index + 1}: ${violations[0]}`);
  }
  if ((chunk + 1) % reportedChunks === 0 || chunk + 1 === chunks) sayFigures();
}

function sayFigures(): void {
  say(JSON.stringify({ ...figures, broken: Object.fromEntries(broken) }));
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

function kindOf(violation: string): string {
  return violation
    .replace(/order-\d+/g, 'order')
    .replace(/(order,)+order/g, 'orders')
    .replace(/\d+/g, 'n');
}
