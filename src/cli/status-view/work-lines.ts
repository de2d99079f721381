import { countWords } from '../../kernel/count-words.ts';
import { printableText } from '../../service/decoding/printable-text.ts';
import type { StatusReport } from '../../status/status-report.ts';
import { agoWords, secondsBetween } from '../../status/status-words.ts';
import { columnOf, cutTo, packNotes, type TextStyle } from './terminal-text.ts';

/** Formats the latest run of each job. */
export function runLines(
  { lastRuns, readAt }: StatusReport,
  { width, paint }: TextStyle,
): string[] {
  const third = Math.floor(width / 3);
  const names = columnOf(
    lastRuns.map(({ job }) => job),
    third,
  );
  const outcomes = columnOf(
    lastRuns.map(({ outcome, finishedAt }) => {
      const when = agoWords(secondsBetween(finishedAt, readAt));
      return outcome === 'done' ? when : `${outcome} ${when}`;
    }),
    third,
  );
  const indent = 4 + (names[0]?.length ?? 0) + (outcomes[0]?.length ?? 0) + 2;
  return lastRuns.flatMap((run, index) => {
    const notes = [
      `${countWords(run.requests)} ${run.requests === 1 ? 'request' : 'requests'}`,
      `${countWords(run.rowsSeen)} seen`,
      ...(run.rowsInserted > 0 ? [`${countWords(run.rowsInserted)} new`] : []),
      ...(run.rowsUpdated > 0 ? [`${countWords(run.rowsUpdated)} changed`] : []),
    ];
    const [first = '', ...more] = packNotes(notes, Math.max(12, width - indent));
    const line = `  ${names[index]}  ${outcomes[index]}  ${first}`;
    const lines = [line, ...more.map((note) => `${' '.repeat(indent)}${note}`)];
    return lines.map((each) => {
      const shown = cutTo(each, width);
      return run.outcome === 'failed' ? paint('red', shown) : shown;
    });
  });
}

export function queueLine({ queue, unseenQueue }: StatusReport): string {
  if (queue === null) return `  ${unseenQueue ?? 'does not answer'}`;
  const { backend, waiting, active, failed, isPaused } = queue;
  const counts = `${countWords(waiting)} due · ${countWords(active)} running · ${countWords(failed)} failed`;
  return `  ${backend} · ${isPaused ? 'paused · ' : ''}${counts} within the hour`;
}

/** Formats the last errors, the latest first. */
export function errorLines({ lastErrors, readAt }: StatusReport, { width }: TextStyle): string[] {
  return lastErrors.map((error) => {
    const source = 'stream' in error ? error.stream : error.job;
    const when = agoWords(secondsBetween(error.at, readAt));
    return `  ${cutTo(printableText(`${source}, ${when}: ${error.message}`), width - 2)}`;
  });
}
