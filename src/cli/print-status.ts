import { styleText } from 'node:util';
import { listProblems } from '../http/status-problems.ts';
import type { StatusReport } from '../http/status-report.ts';
import {
  agoWords,
  countWords,
  daysWords,
  finalChangesWords,
  proofWords,
  secondsBetween,
  unexpectedWords,
} from '../http/status-words.ts';
import { printableText } from '../service/printable-text.ts';

const widthMax = 100;
const barWidth = 24;
const balancesMax = 15;

type Style = Parameters<typeof styleText>[0];
type Paint = (style: Style, text: string) => string;

/** The status as a picture for a terminal, 100 columns at most; without colour no escape code is in it. */
export function printStatus(report: StatusReport, { useColor }: { useColor: boolean }): string {
  const paint: Paint = (style, text) =>
    useColor ? styleText(style, text, { validateStream: false }) : text;
  const parts = [
    headLine(report, paint),
    ['', paint('bold', 'Streams'), ...streamLines(report, paint)],
    ['', paint('bold', 'Transactions'), ...transactionLines(report)],
    titled('Address pools', poolLines(report, paint), paint),
    titled('Balances', balanceLines(report), paint),
    ['', paint('bold', 'Queue'), queueLine(report)],
    titled('Last runs', runLines(report, paint), paint),
    titled('Last errors', errorLines(report), paint),
    titled('Needs attention', problemLines(report, paint), paint),
  ];
  return `${parts.flat().join('\n')}\n`;
}

function titled(title: string, lines: string[], paint: Paint): string[] {
  return lines.length === 0 ? [] : ['', paint('bold', title), ...lines];
}

function headLine(report: StatusReport, paint: Paint): string[] {
  const count = listProblems(report).length;
  const verdict =
    count === 0
      ? paint('green', '✓ all is well')
      : paint('red', `✗ ${count} ${count === 1 ? 'thing needs' : 'things need'} attention`);
  const at = report.readAt.replace('T', ' ').replace('Z', ' UTC');
  return [`${paint('bold', 'wallet-ledger')} · ${at} · ${verdict}`];
}

function streamLines({ streams }: StatusReport, paint: Paint): string[] {
  if (streams.length === 0) return ['  nothing read yet'];
  const names = columnOf(streams.map(({ name }) => name));
  return streams.map((stream, index) => {
    const mark = stream.isComplete ? paint('green', '✓') : paint('red', '✗');
    const read = `read ${agoWords(stream.lagSeconds)}`;
    return `  ${mark} ${cutTo(`${names[index]}  ${proofWords(stream)} · ${read}`, widthMax - 4)}`;
  });
}

function transactionLines({ transactions, rejects, streams }: StatusReport): string[] {
  const { total, final, incomplete } = transactions;
  const counts = [
    `${countWords(total)} in the ledger`,
    `${countWords(final)} final`,
    `${countWords(incomplete)} incomplete`,
    `${countWords(rejects)} ${rejects === 1 ? 'reject' : 'rejects'}`,
  ];
  const turned = finalChangesWords(streams);
  return [`  ${counts.join(' · ')}`, ...(turned === null ? [] : [`  ${turned}`])];
}

function poolLines({ pools, unexpectedDeposits }: StatusReport, paint: Paint): string[] {
  const names = columnOf(pools.map(({ slip44 }) => `chain ${slip44}`));
  const lines = pools.map(({ available, threshold, target, daysLeft }, index) => {
    const filled = Math.round(Math.min(1, available / target) * barWidth);
    const bar = paint(available < threshold ? 'red' : 'green', '█'.repeat(filled));
    const rest = paint('dim', '░'.repeat(barWidth - filled));
    const counts = `${countWords(available)} of ${countWords(target)} · refilled below ${countWords(threshold)}`;
    const days = daysLeft === null ? '' : ` · ${daysWords(daysLeft)}`;
    return `  ${names[index]}  ${bar}${rest}  ${counts}${days}`;
  });
  const unexpected = pools.length > 0 ? unexpectedWords(unexpectedDeposits) : null;
  return unexpected === null ? lines : [...lines, `  ${unexpected}`];
}

function balanceLines({ balances }: StatusReport): string[] {
  const shown = balances.slice(0, balancesMax);
  const names = columnOf(shown.map(({ symbol, chain }) => `${symbol} on ${chain}`));
  const amounts = columnOf(
    shown.map(({ balance }) => balance ?? '–'),
    'right',
  );
  const lines = shown.map(({ frozen }, index) => {
    const held = frozen === null ? '' : `  frozen ${frozen}`;
    return `  ${cutTo(`${names[index]}  ${amounts[index]}${held}`, widthMax - 2)}`;
  });
  const left = balances.length - shown.length;
  return left > 0 ? [...lines, `  and ${countWords(left)} more in ledger.balances`] : lines;
}

function queueLine({ queue }: StatusReport): string {
  if (queue === null) return '  does not answer';
  const { backend, waiting, active, failed } = queue;
  const counts = `${countWords(waiting)} due · ${countWords(active)} at work · ${countWords(failed)} failed`;
  return `  ${backend} · ${counts} within the hour`;
}

function runLines({ lastRuns, readAt }: StatusReport, paint: Paint): string[] {
  const names = columnOf(lastRuns.map(({ job }) => job));
  return lastRuns.map((run, index) => {
    const ended = agoWords(secondsBetween(run.finishedAt, readAt)).padStart(12);
    const outcome = printableText(run.outcome).padEnd(12);
    const counts = `${countWords(run.requests)} requests · ${countWords(run.rowsSeen)} rows seen`;
    const written = `${countWords(run.rowsInserted)} new · ${countWords(run.rowsUpdated)} changed`;
    const line = `  ${names[index]}  ${outcome}${ended}  ${counts} · ${written}`;
    return run.outcome === 'failed' ? paint('red', cutTo(line, widthMax)) : cutTo(line, widthMax);
  });
}

function errorLines({ lastErrors, readAt }: StatusReport): string[] {
  return lastErrors.map((error) => {
    const source = 'stream' in error ? error.stream : error.job;
    const when = agoWords(secondsBetween(error.at, readAt));
    return `  ${cutTo(printableText(`${source}, ${when}: ${error.message}`), widthMax - 2)}`;
  });
}

function problemLines(report: StatusReport, paint: Paint): string[] {
  return listProblems(report).flatMap(({ what, cure }) => [
    ...wrap(printableText(what), widthMax - 4).map((line, index) =>
      paint('red', `  ${index === 0 ? '✗' : ' '} ${line}`),
    ),
    ...wrap(`→ ${cure}`, widthMax - 6).map((line) => `      ${line}`),
  ]);
}

/** Texts from outside, printable, cut at a third of the width, padded to one length. */
function columnOf(texts: string[], side: 'left' | 'right' = 'left'): string[] {
  const shown = texts.map((text) => cutTo(printableText(text), Math.floor(widthMax / 3)));
  const width = Math.max(...shown.map((text) => text.length));
  return shown.map((text) => (side === 'left' ? text.padEnd(width) : text.padStart(width)));
}

function cutTo(text: string, width: number): string {
  return text.length > width ? `${text.slice(0, width - 1)}…` : text;
}

/** Lines of whole words; a word longer than a line is cut into pieces. */
function wrap(text: string, width: number): string[] {
  const words = text
    .split(' ')
    .flatMap((word) => word.match(new RegExp(`.{1,${width}}`, 'gu')) ?? []);
  const lines: string[] = [];
  for (const word of words) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) {
      lines[lines.length - 1] = `${last} ${word}`;
    } else lines.push(word);
  }
  return lines;
}
