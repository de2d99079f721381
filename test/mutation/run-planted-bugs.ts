// Plants each bug of the table and requires that its test fails: npm run planted-bugs -- [--only <bug>]
import { parseArgs } from 'node:util';
import { startEmbeddedServer } from '../support/embedded-server.ts';
import type { PlantedBug } from './planted-bug.ts';
import { plantedBugs } from './planted-bugs.ts';
import { runNamedTests } from './run-named-tests.ts';
import { copyWorkTree, type WorkCopy } from './work-copy.ts';

const baselineMaxMs = 300_000;
const variantMaxMs = 90_000;

/** Vitest's report has the second in place of the first. */
const timedOut = /\btimed out in \d+ms|STACK_TRACE_ERROR/;

/** Null: caught. */
type Outcome = { problem: string | null; words: string };

const { values } = parseArgs({ options: { only: { type: 'string', multiple: true } } });
const chosen = plantedBugs.filter(({ id }) => values.only?.includes(id) ?? true);
if (chosen.length === 0) throw new Error(`no bug is called ${values.only}`);

const stopping = new AbortController();
const { signal } = stopping;
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stopping.abort());
const server = await startEmbeddedServer();
const copy = copyWorkTree(process.cwd());
try {
  const unsound = await runBaseline();
  const survivors: string[] = [];
  for (const bug of chosen) {
    const startedAt = performance.now();
    const outcome = unsound.get(bug.id) ?? (await tryBug(copy, bug));
    if (outcome.problem !== null) survivors.push(bug.id);
    print(bug, outcome, (performance.now() - startedAt) / 1_000);
  }
  process.stdout.write(
    survivors.length === 0
      ? `All ${chosen.length} planted bugs are caught.\n`
      : `Of ${chosen.length} planted bugs ${survivors.length} are not caught: ${survivors.join(', ')}\n`,
  );
  if (survivors.length > 0) process.exitCode = 1;
} catch (error) {
  if (!signal.aborted) throw error;
  process.stdout.write('Stopped: what is not in the table above was not tried.\n');
  process.exitCode = 1;
} finally {
  copy.remove();
  await server.close();
}

/** All named tests without a planted bug; a test that does not pass here proves nothing. */
async function runBaseline(): Promise<Map<string, Outcome>> {
  const options = { maxMs: baselineMaxMs, databaseUrl: server.url, signal };
  const tests = chosen.map(({ caughtBy }) => caughtBy);
  const verdictOf = await runNamedTests(copy.folder, tests, options);
  const unsound = new Map<string, Outcome>();
  for (const { id, caughtBy } of chosen) {
    let verdict = verdictOf(caughtBy);
    // On a busy machine a test may have to run alone, as it does with its bug.
    if (verdict.kind === 'failed' && timedOut.test(verdict.words))
      verdict = (await runNamedTests(copy.folder, [caughtBy], options))(caughtBy);
    if (verdict.kind === 'passed') continue;
    const words = verdict.kind === 'failed' ? verdict.words : '';
    unsound.set(id, { problem: `its test ${verdict.kind} without it`, words });
  }
  return unsound;
}

async function tryBug(tree: WorkCopy, bug: PlantedBug): Promise<Outcome> {
  const takeOut = tree.plant(bug);
  try {
    const compiled = await tree.compile(signal);
    if (compiled.code !== 0) return { problem: 'does not compile', words: compiled.output };
    const options = { maxMs: variantMaxMs, databaseUrl: server.url, signal };
    const verdict = (await runNamedTests(tree.folder, [bug.caughtBy], options))(bug.caughtBy);
    if (verdict.kind !== 'failed')
      return { problem: `SURVIVES: its test ${verdict.kind}`, words: '' };
    const { words } = verdict;
    // A test that only times out does not show the bug.
    if (timedOut.test(words)) return { problem: 'its test timed out', words };
    return { problem: null, words };
  } catch (error) {
    signal.throwIfAborted();
    return { problem: 'its test could not be run', words: String(error) };
  } finally {
    takeOut();
  }
}

function print(bug: PlantedBug, { problem, words }: Outcome, seconds: number): void {
  const said = words
    .split('\n')
    .slice(0, problem === null ? 1 : 20)
    .join('\n    ')
    .slice(0, 2_000);
  process.stdout.write(
    `${problem === null ? 'caught' : 'NOT CAUGHT'}  ${bug.id}  (${bug.promise})  ${bug.caughtBy}  ${seconds.toFixed(1)} s\n` +
      (problem === null ? '' : `  ${problem}\n`) +
      (said && `    ${said}\n`),
  );
}
