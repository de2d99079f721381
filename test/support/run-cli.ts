import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { bundledProgram } from './bundled-program.ts';

export type Ended = {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
};

export type RunningProgram = {
  process: ChildProcess;
  ended: Promise<Ended>;
  /**
   * Resolves to the first line of stdout or stderr that contains or matches the text; rejects if the program ends
   * before.
   */
  line(text: string | RegExp): Promise<string>;
  /** Peak resident memory so far, in MiB (Linux). */
  peakMemoryMiB(): number;
};

/** Starts `wallet-ledger` as its users do, with only the given environment, in an empty working directory. */
export function startProgram(
  args: string[],
  env: Record<string, string> = {},
  program = bundledProgram,
): RunningProgram {
  const directory = mkdtempSync(join(tmpdir(), 'wallet-ledger-run-'));
  // Root's embedded PostgreSQL, which runs under another account, must be able to enter.
  chmodSync(directory, 0o711);
  const child = spawn(process.execPath, [program, ...args], {
    cwd: directory,
    env: { PATH: process.env['PATH'] ?? '', HOME: directory, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
    rmSync(directory, { recursive: true, force: true });
  });
  const output = { stdout: '', stderr: '' };
  const watchers = new Set<() => void>();
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
      for (const watch of watchers) watch();
    });
  }
  const ended = new Promise<Ended>((done) => {
    child.on('close', (code, signal) => done({ code, signal, ...output }));
  });
  return {
    process: child,
    ended,
    line: (text) =>
      new Promise((found, reject) => {
        const watch = () => {
          const hit = `${output.stdout}\n${output.stderr}`
            .split('\n')
            .find((line) => (typeof text === 'string' ? line.includes(text) : text.test(line)));
          if (hit !== undefined) found(hit);
        };
        watchers.add(watch);
        watch();
        void ended.then(() =>
          reject(new Error(`ended without “${text}”:\n${output.stdout}${output.stderr}`)),
        );
      }),
    peakMemoryMiB() {
      const peak = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1];
      // A process that is ending has no memory figures.
      if (peak === undefined) throw new Error('the program has ended');
      return Number(peak) / 1_024;
    },
  };
}

/** Runs it to its end. */
export function runProgram(
  args: string[],
  env: Record<string, string> = {},
  program = bundledProgram,
): Promise<Ended> {
  return startProgram(args, env, program).ended;
}
