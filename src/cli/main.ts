#!/usr/bin/env node
import { setFlagsFromString } from 'node:v8';
import { LedgerError, toError } from '../kernel/errors.ts';
import { failureLine, isDebugging } from './context/command-context.ts';
import { runProgram } from './program.ts';

// Limits the growth of V8's heap: pages become garbage by the thousand. A backfill takes the same time with a third
// less memory. New space keeps the size that loading the modules gave it.
setFlagsFromString('--heap-growing-percent=40');
setFlagsFromString('--semi-space-growth-factor=1');

// Node 21 has `navigator`. Without it, pg creates a Response to detect its platform, which loads all of Node's fetch.
if (!('navigator' in globalThis))
  Object.assign(globalThis, { navigator: { userAgent: `Node.js/${process.versions.node}` } });

// If the reader of the output has left, or the terminal was closed, the command still succeeds.
let lostOutput: Error | undefined;
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE' && error.code !== 'EIO') lostOutput ??= error;
});
// An error of stderr cannot be reported anywhere.
process.stderr.on('error', () => undefined);

/** Exit code of a command that finished and reports something missing. */
const incompleteCode = 3;

let exitCode: number;
try {
  exitCode = await runProgram(process.argv.slice(2));
} catch (error) {
  // Only failures before a command has its settings arrive here, mostly settings errors.
  const failure = toError(error);
  process.stderr.write(`${failureLine(failure, isDebugging())}\n`);
  exitCode = 'exitCode' in failure && typeof failure.exitCode === 'number' ? failure.exitCode : 1;
}
// Exits explicitly, after the output is flushed: a timer or socket of a library must not keep a finished command alive.
// Node reports a failed write one turn of the event loop after it has ended.
process.stdout.write('', () => setImmediate(exit));

function exit(): void {
  // With any other code the command has printed its failure, which is mostly this one.
  if (lostOutput !== undefined && [0, incompleteCode].includes(exitCode)) {
    exitCode = 1;
    const failure = new LedgerError('unexpected', `the output is lost: ${lostOutput.message}`, {
      cause: lostOutput,
      cure: 'free space where it is written, then run the command again',
    });
    process.stderr.write(`${failureLine(failure, isDebugging())}\n`);
  }
  process.stderr.write('', () => process.exit(exitCode));
}
