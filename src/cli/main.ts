#!/usr/bin/env node
import { setFlagsFromString } from 'node:v8';
import { toError } from '../kernel/errors.ts';
import { failureLine, isDebugging } from './command-context.ts';
import { runProgram } from './program.ts';

// Pages come and go by the thousand, and V8 would let their garbage pile up: a backfill takes as long with a third less
// memory. New space stays as large as the modules' loading has made it.
setFlagsFromString('--heap-growing-percent=40');
setFlagsFromString('--semi-space-growth-factor=1');

let exitCode: number;
try {
  exitCode = await runProgram(process.argv.slice(2));
} catch (error) {
  // Only what fails before a command has its settings arrives here, settings errors above all.
  const failure = toError(error);
  process.stderr.write(`${failureLine(failure, isDebugging())}\n`);
  exitCode = 'exitCode' in failure && typeof failure.exitCode === 'number' ? failure.exitCode : 1;
}
// A library's forgotten timer or socket must not keep a finished command alive; output is flushed first.
process.stdout.write('', () => process.stderr.write('', () => process.exit(exitCode)));
