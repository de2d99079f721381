import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

export type ProductRun = {
  code: number | null;
  /** From its start to its end, including the start of Node. */
  seconds: number;
  /** Peak resident memory of the whole process (VmHWM), in MiB; 0 where there is no /proc. */
  peakMiB: number;
  /** Resident memory (VmRSS) twenty times a second, in MiB. */
  residentMiB: number[];
  stdout: string;
  stderr: string;
};

export type RunningProduct = { process: ChildProcess; ended: Promise<ProductRun> };

const program = resolve('dist/src/cli/main.js');
const memoryPollMs = 50;

/** Starts the built program as its users do, with only the given environment, in an empty directory. */
export async function startProduct(
  args: string[],
  env: Record<string, string>,
): Promise<RunningProduct> {
  const directory = await mkdtemp(join(tmpdir(), 'wallet-ledger-bench-'));
  const startedAt = performance.now();
  const child = spawn(process.execPath, [program, ...args], {
    cwd: directory,
    env: { PATH: process.env['PATH'] ?? '', HOME: directory, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
    });
  }
  let peakMiB = 0;
  const residentMiB: number[] = [];
  const poll = setInterval(() => {
    const memory = readMemory(child.pid);
    if (!memory) return;
    peakMiB = memory.peakMiB;
    residentMiB.push(memory.residentMiB);
  }, memoryPollMs);
  const ended = new Promise<ProductRun>((done, fail) => {
    child.on('error', fail);
    child.on('close', (code) => {
      const seconds = (performance.now() - startedAt) / 1_000;
      clearInterval(poll);
      const run = { code, seconds, peakMiB, residentMiB, ...output };
      rm(directory, { recursive: true, force: true }).then(() => done(run), fail);
    });
  });
  return { process: child, ended };
}

/** Runs it to its end; throws its output if it does not exit with 0. */
export async function runProduct(args: string[], env: Record<string, string>): Promise<ProductRun> {
  const { ended } = await startProduct(args, env);
  const run = await ended;
  if (run.code === 0) return run;
  throw new Error(`wallet-ledger ${args.join(' ')} ended with ${run.code}:\n${run.stderr}`);
}

/** Undefined while a process starts or ends: it has no memory figures. */
function readMemory(pid: number | undefined) {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const [peakMiB, residentMiB] = ['VmHWM', 'VmRSS'].map(
      (name) => Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1]) / 1_024,
    );
    return peakMiB && residentMiB ? { peakMiB, residentMiB } : undefined;
  } catch {
    return undefined;
  }
}
