import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

export type ProcessFigures = {
  member: string;
  pid: number;
  seconds: number;
  rssMaxMiB: number;
  /** Slope of a line through the samples after the warm-up; null if there were too few. */
  rssMiBPerMinute: number | null;
  filesMax: number;
  socketsMax: number;
};

export type ResourceWatch = { figures(): ProcessFigures[]; stop(): void };

type Sample = { second: number; rssMiB: number };
type Series = { member: string; samples: Sample[]; filesMax: number; socketsMax: number };

const everyMs = 2_000;
/** Caches and pools are filled first. */
const warmUpS = 60;
const slopeMinS = 120;

/** Reads memory and open files of the processes from /proc while they run. */
export function watchResources(
  living: () => { name: string; pid: number | undefined }[],
): ResourceWatch {
  const all = new Map<number, Series>();
  const startedAt = performance.now();
  const sample = () => {
    for (const { name, pid } of living()) {
      if (pid === undefined) continue;
      const reading = readProcess(pid);
      if (!reading) continue;
      const series = all.get(pid) ?? { member: name, samples: [], filesMax: 0, socketsMax: 0 };
      all.set(pid, series);
      series.samples.push({
        second: (performance.now() - startedAt) / 1_000,
        rssMiB: reading.rssMiB,
      });
      series.filesMax = Math.max(series.filesMax, reading.files);
      series.socketsMax = Math.max(series.socketsMax, reading.sockets);
    }
  };
  const timer = setInterval(sample, everyMs);
  return {
    figures: () => [...all].map(([pid, series]) => figuresOf(pid, series)),
    stop: () => clearInterval(timer),
  };
}

function figuresOf(pid: number, { member, samples, filesMax, socketsMax }: Series): ProcessFigures {
  const from = samples[0]?.second ?? 0;
  const seconds = (samples.at(-1)?.second ?? 0) - from;
  const settled = samples.filter(({ second }) => second - from >= warmUpS);
  return {
    member,
    pid,
    seconds,
    rssMaxMiB: Math.max(...samples.map(({ rssMiB }) => rssMiB)),
    rssMiBPerMinute: seconds - warmUpS >= slopeMinS ? slope(settled) * 60 : null,
    filesMax,
    socketsMax,
  };
}

/** Least squares. */
function slope(samples: Sample[]): number {
  const mean = (of: (sample: Sample) => number) =>
    samples.reduce((sum, sample) => sum + of(sample), 0) / samples.length;
  const [x, y] = [mean(({ second }) => second), mean(({ rssMiB }) => rssMiB)];
  const spread = samples.reduce((sum, { second }) => sum + (second - x) ** 2, 0);
  if (spread === 0) return 0;
  return samples.reduce((sum, { second, rssMiB }) => sum + (second - x) * (rssMiB - y), 0) / spread;
}

/** Undefined while a process starts or ends. */
function readProcess(pid: number) {
  try {
    const kiB = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    if (kiB === undefined) return undefined;
    const files = readdirSync(`/proc/${pid}/fd`);
    const sockets = files.filter((file) => isSocket(`/proc/${pid}/fd/${file}`));
    return { rssMiB: Number(kiB) / 1_024, files: files.length, sockets: sockets.length };
  } catch {
    return undefined;
  }
}

function isSocket(path: string): boolean {
  try {
    return readlinkSync(path).startsWith('socket:');
  } catch {
    return false;
  }
}
