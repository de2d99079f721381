import type { PartFacts, ProgressMeter } from './measure-progress.ts';
import { durationWords, partWords } from './progress-words.ts';

/** Readers may rely on a line every 10 s; half of that leaves room for a busy process. */
const lineEveryMs = 5_000;

/** A line every 5 s, whether something arrives or not, and one at the end. Returns what ends it. */
export function showLines(
  write: (text: string) => void,
  meter: Pick<ProgressMeter, 'measure'>,
): () => void {
  const print = (isLast: boolean) => {
    const { seconds, parts, waiting } = meter.measure();
    if (isLast && parts.length === 0) return;
    const words = phaseOf(parts).map((facts) => `${facts.part}: ${partWords(facts)}`);
    const standstill = isLast
      ? null
      : (waiting ?? (parts.length === 0 ? 'nothing read yet' : null));
    const told = [...words, ...(standstill === null ? [] : [standstill])];
    write(`progress after ${durationWords(seconds)}: ${told.join('; ')}\n`);
  };
  const timer = setInterval(print, lineEveryMs, false);
  return () => {
    clearInterval(timer);
    print(true);
  };
}

/** What is under way; all that was, where nothing is. */
function phaseOf(parts: PartFacts[]): PartFacts[] {
  const open = parts.filter(({ tookSeconds }) => tookSeconds === null);
  return open.length > 0 ? open : parts;
}
