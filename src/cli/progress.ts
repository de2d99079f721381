import { MultiBar, Presets, type SingleBar } from 'cli-progress';
import type { Progress } from '../sync/sync-tools.ts';

export type ProgressDisplay = { onProgress: Progress; stop(): void };

const lineEveryMs = 5_000;

/** Bars on a terminal; elsewhere a line per part at least every 10 s while something moves. Writes to stderr. */
export function createProgress(stream: NodeJS.WriteStream): ProgressDisplay {
  return stream.isTTY ? createBars(stream) : createLines(stream);
}

function createBars(stream: NodeJS.WriteStream): ProgressDisplay {
  const format = ' {part} {bar} {value}/{total} rows · {rate}/s · {eta_formatted} left';
  const bars = new MultiBar(
    { format, stream, hideCursor: true, etaBuffer: 50 },
    Presets.shades_classic,
  );
  const rows = new Map<string, { bar: SingleBar; startedAt: number; startedWith: number }>();
  return {
    onProgress(part, done, total) {
      const known = rows.get(part) ?? {
        bar: bars.create(total ?? done, done, { part: part.padEnd(10), rate: '–' }),
        startedAt: performance.now(),
        startedWith: done,
      };
      rows.set(part, known);
      const seconds = (performance.now() - known.startedAt) / 1_000;
      const rate = seconds > 0.5 ? count((done - known.startedWith) / seconds) : '–';
      known.bar.setTotal(Math.max(total ?? done, done));
      known.bar.update(done, { rate });
    },
    stop: () => bars.stop(),
  };
}

function createLines(stream: NodeJS.WriteStream): ProgressDisplay {
  const latest = new Map<string, string>();
  const startedAt = performance.now();
  const print = () => {
    const text = [...latest.values()].join(', ') || 'waiting for the first answer';
    const seconds = Math.round((performance.now() - startedAt) / 1_000);
    stream.write(`progress after ${seconds} s: ${text}\n`);
  };
  const timer = setInterval(print, lineEveryMs);
  return {
    onProgress(part, done, total) {
      latest.set(part, `${part} ${count(done)}${total === null ? '' : ` of ${count(total)}`} rows`);
    },
    stop() {
      clearInterval(timer);
      print();
    },
  };
}

function count(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}
