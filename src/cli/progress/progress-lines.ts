import type { PartFacts, ProgressMeter } from './measure-progress.ts';
import { durationWords, partWords } from './progress-words.ts';

/** Half of the documented 10 s, as a margin for a busy process. */
const lineEveryMs = 5_000;

/**
 * Prints a line every 5 s, even while nothing arrives, and a last one at the end. Returns the function that ends it.
 */
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
    const shown = [...words, ...(standstill === null ? [] : [standstill])];
    write(`progress after ${durationWords(seconds)}: ${shown.join('; ')}\n`);
  };
  const timer = setInterval(print, lineEveryMs, false);
  return () => {
    clearInterval(timer);
    print(true);
  };
}

/** Returns the parts in progress, or all parts if none is. */
function phaseOf(parts: PartFacts[]): PartFacts[] {
  const open = parts.filter(({ tookSeconds }) => tookSeconds === null);
  return open.length > 0 ? open : parts;
}
