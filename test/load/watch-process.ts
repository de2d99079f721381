import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

export type ProcessFigures = { memoryMiB: number; sockets: number };

export type ProcessWatch = { most: ProcessFigures; now(): ProcessFigures; stop(): void };

const everyMs = 250;

/** Records the maximum memory and sockets of a process (Linux). */
export function watchProcess(pid: number): ProcessWatch {
  const most: ProcessFigures = { memoryMiB: 0, sockets: 0 };
  const now = () => ({ memoryMiB: memoryMiBOf(pid), sockets: socketsOf(pid) });
  const look = () => {
    try {
      const { memoryMiB, sockets } = now();
      most.memoryMiB = Math.max(most.memoryMiB, memoryMiB);
      most.sockets = Math.max(most.sockets, sockets);
    } catch {
      // It has ended.
    }
  };
  look();
  const timer = setInterval(look, everyMs);
  return { most, now, stop: () => clearInterval(timer) };
}

function memoryMiBOf(pid: number): number {
  const text = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(text)?.[1] ?? 0) / 1_024;
}

function socketsOf(pid: number): number {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).filter((name) => isSocket(`${folder}/${name}`)).length;
}

function isSocket(path: string): boolean {
  try {
    return readlinkSync(path).startsWith('socket:');
  } catch {
    // Closed meanwhile.
    return false;
  }
}
