import { countWords } from '../../kernel/count-words.ts';
import type { StatusReport } from '../../status/status-report.ts';
import { columnOf, cutTo, type TextStyle } from './terminal-text.ts';

const balancesMax = 15;

/** Formats balances with the service's own digits, aligned at the decimal points. */
export function balanceLines({ balances, leftOut }: StatusReport, { width }: TextStyle): string[] {
  const shown = balances.slice(0, balancesMax);
  const names = columnOf(
    shown.map(({ symbol, chain }) => `${symbol} on ${chain}`),
    Math.floor(width / 3),
  );
  const amounts = shown.map(({ balance }) => /^([^.]*)(.*)$/s.exec(balance ?? '–') ?? []);
  const wholes = columnOf(
    amounts.map(([, whole = '']) => whole),
    Math.floor(width / 3),
    'right',
  );
  const fractions = columnOf(
    amounts.map(([, , fraction = '']) => fraction),
    Math.floor(width / 3),
  );
  const lines = shown.map(({ frozen }, index) => {
    const held = frozen === null || Number(frozen) === 0 ? '' : `  ${frozen} frozen`;
    const line = `  ${names[index]}  ${wholes[index]}${fractions[index]}${held}`;
    return cutTo(line.trimEnd(), width);
  });
  const left = balances.length - shown.length + (leftOut?.balances ?? 0);
  return left > 0 ? [...lines, `  and ${countWords(left)} more in ledger.balances`] : lines;
}
