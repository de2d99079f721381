import type { StatusReport } from '../../status/status-report.ts';
import { attentionLines } from './attention-lines.ts';
import { balanceLines } from './balance-lines.ts';
import { feedLines } from './feed-lines.ts';
import { poolLines } from './pool-lines.ts';
import { proofLines } from './proof-lines.ts';
import { createCanvas } from './terminal-text.ts';
import { errorLines, queueLine, runLines } from './work-lines.ts';

const widthMin = 60;
const widthMax = 100;

/**
 * Formats the status for a terminal of `columns` (undefined: not a terminal), 60 to 100 columns wide. Problems come
 * first. Without `useColor` the text has no escape codes.
 */
export function printStatus(
  report: StatusReport,
  { useColor, columns }: { useColor: boolean; columns: number | undefined },
): string {
  const width = Math.min(widthMax, Math.max(widthMin, columns ?? widthMax));
  const canvas = createCanvas({ width, useColor });
  const titled = (title: string, lines: string[]) =>
    lines.length === 0 ? [] : ['', canvas.paint('bold', title), ...lines];
  const parts = [
    attentionLines(report, canvas),
    titled(
      'Proof: rows in the ledger, of those that the service counts',
      proofLines(report, canvas),
    ),
    titled('Address pools: refilled below ┃', poolLines(report, canvas)),
    titled('Balances', balanceLines(report, canvas)),
    titled('Change feed', feedLines(report, canvas)),
    titled('Queue', [queueLine(report)]),
    titled('Last runs', runLines(report, canvas)),
    titled('Last errors', errorLines(report, canvas)),
  ];
  return `${parts.flat().join('\n')}\n`;
}
