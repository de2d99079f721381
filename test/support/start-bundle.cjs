/**
 * Starts the bundle beside it with the code that V8 compiled in an earlier run of the same command, which takes a
 * quarter off the processor time of a start. The first run of each command that ends with 0 keeps its code.
 */
const { readFileSync, renameSync, statSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');
const { setFlagsFromString } = require('node:v8');
const { Script } = require('node:vm');

/** V8 accepts code only under the flags under which it was kept: those of src/cli/main.ts. */
const flagsOfProgram = ['--heap-growing-percent=40', '--semi-space-growth-factor=1'];
const flagsBefore = ['--heap-growing-percent=0', '--semi-space-growth-factor=2'];

const file = join(__dirname, 'program.cjs');
const [command = ''] = process.argv.slice(2);
/** V8 compares nothing but the length of the source. */
const kept = join(__dirname, `${statSync(file).mtimeMs}${command.replaceAll(/[^a-z]/g, '')}.code`);
const isAnswer = process.argv.some((word) => ['--help', '--version'].includes(word));

flagsOfProgram.forEach(setFlagsFromString);
const script = new Script(readFileSync(file, 'latin1'), { filename: file, cachedData: readKept() });
flagsBefore.forEach(setFlagsFromString);
script.runInThisContext()(require, module, (name) => import(name), file, __dirname);
if (script.cachedDataRejected !== false && !isAnswer) process.on('exit', keep);

function readKept() {
  try {
    return readFileSync(kept);
  } catch {
    return undefined;
  }
}

/** Other processes may read or write it at the same time. */
function keep(code) {
  if (code !== 0) return;
  const ours = `${kept}.${process.pid}`;
  writeFileSync(ours, script.createCachedData());
  renameSync(ours, kept);
}
