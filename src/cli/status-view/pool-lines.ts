import { countWords } from '../../kernel/count-words.ts';
import type { PoolStatus } from '../../ledger/reports/ledger-status.ts';
import type { StatusReport } from '../../status/status-report.ts';
import { daysWords, unexpectedWords } from '../../status/status-words.ts';
import { type BarRow, barTable, type Verdict } from './bar-table.ts';
import { type TextStyle, wrap } from './terminal-text.ts';

/** Upper bound of shown pools; a pool with a problem is always shown. */
const poolsMax = 8;

/** Formats the level, the threshold and the remaining days of every pool. */
export function poolLines(
  { pools, unexpectedDeposits }: StatusReport,
  canvas: TextStyle,
): string[] {
  if (pools.length === 0) return [];
  const shown = pools.filter((pool, index) => index < poolsMax || verdictOn(pool) !== 'good');
  const hidden = pools.length - shown.length;
  const unexpected = unexpectedWords(unexpectedDeposits);
  return [
    ...barTable(shown.map(poolRow), canvas),
    ...(hidden === 0 ? [] : [`    and ${countWords(hidden)} more above their thresholds`]),
    ...(unexpected === null ? [] : wrap(unexpected, canvas.width - 4)).map((line) => `    ${line}`),
  ];
}

function poolRow(pool: PoolStatus): BarRow {
  const { slip44, available, threshold, target, daysLeft } = pool;
  return {
    verdict: verdictOn(pool),
    name: `chain ${slip44}`,
    part: available,
    whole: target,
    threshold,
    counts: `${countWords(available)} of ${countWords(target)}`,
    notes: [
      ...(daysLeft === null ? ['none taken in 7 days'] : [daysWords(daysLeft)]),
      `refilled below ${countWords(threshold)}`,
    ],
  };
}

function verdictOn({ available, threshold, target, lastError }: PoolStatus): Verdict {
  if (available < threshold) return 'bad';
  return lastError !== null && available < target ? 'open' : 'good';
}
