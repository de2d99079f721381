import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { filesOfTest, readTestFiles, titlePattern } from './named-tests.ts';
import { runBriefly } from './run-briefly.ts';

/** `failed` holds the message of the first failure; `absent`: no test with this title ran. */
export type TestVerdict =
  | { kind: 'passed' }
  | { kind: 'failed'; words: string }
  | { kind: 'absent' };

const report = z.object({
  testResults: z.array(
    z.object({
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

/** Runs the tests with these titles in a working tree; returns the result of each. */
export async function runNamedTests(
  folder: string,
  titles: string[],
  { maxMs, databaseUrl, signal }: { maxMs: number; databaseUrl: string; signal: AbortSignal },
): Promise<(title: string) => TestVerdict> {
  const outputFile = join(folder, '.planted-report.json');
  rmSync(outputFile, { force: true });
  const testFiles = readTestFiles(folder);
  const files = new Set(titles.flatMap((title) => filesOfTest(testFiles, title)));
  const patterns = [...new Set(titles.map(titlePattern))];
  const args = ['node_modules/vitest/vitest.mjs', 'run', '--retry=0', ...files];
  args.push('-t', `(^| )(${patterns.join('|')})$`, '--reporter=json', `--outputFile=${outputFile}`);
  const ended = await runBriefly(process.execPath, args, {
    cwd: folder,
    maxMs,
    signal,
    env: { TEST_DATABASE_URL: databaseUrl },
  });
  if (!existsSync(outputFile)) throw new Error(`the tests did not run:\n${ended.output}`);
  const { testResults } = report.parse(JSON.parse(readFileSync(outputFile, 'utf8')));
  return (title) => verdictOf(testResults, title);
}

function verdictOf(results: Report['testResults'], wanted: string): TestVerdict {
  const pattern = new RegExp(`^(\\[[A-Z0-9 ]+\\] )?${titlePattern(wanted)}$`);
  const ran = results
    .flatMap(({ assertionResults }) => assertionResults)
    .filter(({ title, status }) => pattern.test(title) && ['passed', 'failed'].includes(status));
  const failure = ran.find(({ status }) => status === 'failed');
  if (failure) return { kind: 'failed', words: failure.failureMessages?.[0] ?? '' };
  return ran.length > 0 ? { kind: 'passed' } : { kind: 'absent' };
}
