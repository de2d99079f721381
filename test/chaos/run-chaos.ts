/**
 * `npm run chaos`: the program as its users run it, with a service and servers that fail in every known way;
 * afterwards the ledger is compared with the truth. Needs only Node and npm, and a `redis-server` for `--queue redis`.
 * Exits with 0 (passed), 1 (failed), 2 (usage) or 3 (inconclusive: too few faults were made).
 */
import { writeFileSync } from 'node:fs';
import { type ChaosOptions, readOptions, UsageError, usage } from './chaos-options.ts';
import { runChaos } from './chaos-run.ts';
import { exitCodes, formatReport, judge, reportAsJson } from './report.ts';

process.exitCode = await main(process.argv.slice(2));
// A forgotten timer of a library must not keep the runner alive.
process.stdout.write('', () => process.exit());

async function main(args: string[]): Promise<number> {
  try {
    return await run(readOptions(args));
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`chaos: ${error.message}\n${usage}\n`);
    return 2;
  }
}

async function run(options: ChaosOptions): Promise<number> {
  const kills: (() => void)[] = [];
  process.on('exit', () => {
    for (const kill of kills) kill();
  });
  const stopping = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => {
      if (stopping.signal.aborted) process.exit(1);
      say('told to stop: no more faults; once more to leave at once');
      stopping.abort();
    });
  }
  const outcome = await runChaos(options, {
    say,
    killSwitch: { add: (kill) => kills.push(kill) },
    signal: stopping.signal,
  });
  writeFileSync(options.json, reportAsJson(outcome));
  process.stdout.write(formatReport(outcome));
  return exitCodes[judge(outcome)];
}

function say(line: string): void {
  process.stderr.write(`chaos: ${line}\n`);
}
