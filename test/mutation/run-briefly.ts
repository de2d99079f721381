import { spawn } from 'node:child_process';
import { once } from 'node:events';

export type Ended = { code: number | null; output: string };

export type BriefRun = {
  cwd: string;
  maxMs: number;
  signal: AbortSignal;
  env?: Record<string, string>;
};

/** Runs a program to its end; after `maxMs`, or at the signal, it is killed with all its children. */
export async function runBriefly(
  program: string,
  args: string[],
  { cwd, maxMs, signal, env }: BriefRun,
): Promise<Ended> {
  signal.throwIfAborted();
  const child = spawn(program, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    // Its own process group, so that the children of a failing test end with it.
    detached: true,
  });
  const ended: Ended = { code: null, output: '' };
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      ended.output += text;
    });
  }
  const end = () => endGroup(child.pid);
  const timer = setTimeout(end, maxMs);
  signal.addEventListener('abort', end, { once: true });
  try {
    [ended.code] = await once(child, 'exit');
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
    end();
  }
  signal.throwIfAborted();
  return ended;
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // No process of the group is left.
  }
}
