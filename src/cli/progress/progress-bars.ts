import { MultiBar, Presets, type SingleBar } from 'cli-progress';
import type { Screen } from '../output/screen.ts';
import type { PartFacts, ProgressMeter } from './measure-progress.ts';
import { durationWords, partWords } from './progress-words.ts';

const drawEveryMs = 250;
const nameWidth = 13;
/** Columns beside a bar, with and without the pages; the bar takes the rest of the line. */
const wordsWidth = { withPages: 85, withoutPages: 58 } as const;
const barMin = 6;
const barMax = 30;

/**
 * Draws a line with the time and the reason for waiting, and a bar per part, redrawn in place below the log. Returns
 * the function that ends it.
 */
export function showBars(
  { stream, drawBelowLog }: Screen,
  meter: Pick<ProgressMeter, 'measure'>,
): () => void {
  const spare = (stream.columns ?? 80) - nameWidth - 4;
  const hasPages = spare - wordsWidth.withPages >= barMin;
  const barsize = spare - (hasPages ? wordsWidth.withPages : wordsWidth.withoutPages);
  const multi = new MultiBar(
    {
      format: ' {part} {bar} {words}',
      stream,
      barsize: Math.min(barMax, Math.max(barMin, barsize)),
      hideCursor: true,
      // The terminal wraps log lines, and bars are cut. Bars that a log line moved down are redrawn.
      linewrap: true,
      forceRedraw: true,
    },
    Presets.shades_classic,
  );
  const head = multi.create(1, 0, { words: '' }, { format: ' {words}' });
  const bars = new Map<string, SingleBar>();
  const draw = () => {
    const { seconds, parts, waiting } = meter.measure();
    const after = `after ${durationWords(seconds)}`;
    head.update(0, { words: waiting === null ? after : `${after} · ${waiting}` });
    for (const facts of parts) {
      const { part } = facts;
      const shown = hasPages ? facts : { ...facts, pages: null };
      const payload = { part: part.padEnd(nameWidth), words: partWords(shown) };
      const { all, filled } = lengthsOf(facts);
      const bar = bars.get(part) ?? multi.create(all, filled, payload);
      bars.set(part, bar);
      bar.setTotal(all);
      bar.update(filled, payload);
    }
  };
  const undrawn = drawBelowLog((lines) => multi.log(lines));
  const timer = setInterval(draw, drawEveryMs);
  return () => {
    clearInterval(timer);
    draw();
    multi.update();
    multi.stop();
    undrawn();
  };
}

/** Returns the lengths of a bar: full when the part has ended, and empty while the number of rows is unknown. */
function lengthsOf({ done, total, tookSeconds }: PartFacts): { all: number; filled: number } {
  if (tookSeconds !== null) return { all: 1, filled: 1 };
  return total === null || total === 0
    ? { all: 1, filled: 0 }
    : { all: Math.max(total, done), filled: done };
}
