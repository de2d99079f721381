import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { runBriefly } from './run-briefly.ts';

export type NamedTest = { file: string; name: string };

/** `failed` holds the words of the first failure; `absent`: no test of this name ran. */
export type TestVerdict =
  | { kind: 'passed' }
  | { kind: 'failed'; words: string }
  | { kind: 'absent' };

const report = z.object({
  testResults: z.array(
    z.object({
      name: z.string(),
      assertionResults: z.array(
        z.object({
          title: z.string(),
          status: z.string(),
          failureMessages: z.array(z.string()).nullish(),
        }),
      ),
    }),
  ),
});
type Report = z.infer<typeof report>;

/** Runs the named tests in a work tree; the answer tells of each. */
export async function runNamedTests(
  folder: string,
  tests: NamedTest[],
  { maxMs, databaseUrl, signal }: { maxMs: number; databaseUrl: string; signal: AbortSignal },
): Promise<(test: NamedTest) => TestVerdict> {
  const outputFile = join(folder, '.planted-report.json');
  rmSync(outputFile, { force: true });
  const names = [...new Set(tests.map(({ name }) => patternOf(name)))];
  const args = ['node_modules/vitest/vitest.mjs', 'run', ...new Set(tests.map(({ file }) => file))];
  args.push('-t', `(^| )(${names.join('|')})$`, '--reporter=json', `--outputFile=${outputFile}`);
  const ended = await runBriefly(process.execPath, args, {
    cwd: folder,
    maxMs,
    signal,
    env: { TEST_DATABASE_URL: databaseUrl },
  });
  if (!existsSync(outputFile)) throw new Error(`the tests did not run:\n${ended.output}`);
  const { testResults } = report.parse(JSON.parse(readFileSync(outputFile, 'utf8')));
  return (test) => verdictOf(testResults, folder, test);
}

function verdictOf(results: Report['testResults'], folder: string, test: NamedTest): TestVerdict {
  const title = new RegExp(`^(\\[[A-Z0-9 ]+\\] )?${patternOf(test.name)}$`);
  const ran = results
    .filter(({ name }) => name === join(folder, test.file))
    .flatMap(({ assertionResults }) => assertionResults)
    .filter((one) => title.test(one.title) && ['passed', 'failed'].includes(one.status));
  const failure = ran.find(({ status }) => status === 'failed');
  if (failure) return { kind: 'failed', words: failure.failureMessages?.[0] ?? '' };
  return ran.length > 0 ? { kind: 'passed' } : { kind: 'absent' };
}

/** A title as the reports write it: the placeholders of tables of cases stand for anything. */
function patternOf(name: string): string {
  return name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/%[a-z]/g, '[^]*');
}
