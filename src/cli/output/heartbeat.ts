import { countWords } from '../../kernel/count-words.ts';
import type { CommandContext } from '../context/command-context.ts';

const everyMs = 60_000;

type Heartbeat = {
  /** Counts a finished pass. */
  onRun(run: { rowsInserted: number; rowsUpdated: number }): void;
};

/** Logs each minute what a daemon has done, until the shutdown, so that a person at its terminal sees that it works. */
export function startHeartbeat({
  log,
  shutdown,
}: Pick<CommandContext, 'log' | 'shutdown'>): Heartbeat {
  let passes = 0;
  let inserted = 0;
  let updated = 0;
  const timer = setInterval(() => {
    const words = [
      `${countWords(passes)} ${passes === 1 ? 'pass' : 'passes'}`,
      `${countWords(inserted)} new and ${countWords(updated)} changed rows`,
    ];
    log.info({}, `in the last minute: ${words.join(', ')}`);
    passes = inserted = updated = 0;
  }, everyMs);
  shutdown.add('heartbeat', () => clearInterval(timer));
  return {
    onRun({ rowsInserted, rowsUpdated }) {
      passes += 1;
      inserted += rowsInserted;
      updated += rowsUpdated;
    },
  };
}
