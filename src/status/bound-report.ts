import type { StatusReport } from './status-report.ts';

const textMax = 500;
const listMax = 500;
const digitsShown = 20;
const longNumber = /^(-?)(\d)(\d+)(?:\.\d*)?$/;

/**
 * Returns the report with lists of at most 500 items for each wallet and texts of at most 500 characters. The service
 * can send any number and length, and the report is shown on pages, terminals and as metrics. A cut text ends with `…`;
 * the digits of a cut number are truncated and followed by an exponent. Cures are the program's own and stay whole.
 */
export function boundReport(report: StatusReport): StatusReport {
  const kept = bounded(report) as StatusReport;
  const beyond = (list: unknown[]) => list.length - firstOfEachWallet(list).length;
  return {
    ...kept,
    leftOut: {
      balances: Math.max(0, report.balanceCount - Math.max(listMax, kept.balances.length)),
      unexplainedDifferences: beyond(report.unexplainedDifferences),
      problems: beyond(report.problems),
    },
  };
}

function bounded(value: unknown): unknown {
  if (typeof value === 'string') return value.length > textMax ? shortened(value) : value;
  if (Array.isArray(value)) return firstOfEachWallet(value).map(bounded);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, name === 'cure' ? item : bounded(item)]),
  );
}

/** Items that name no wallet count together. */
function firstOfEachWallet(list: unknown[]): unknown[] {
  const counts = new Map<unknown, number>();
  return list.filter((item) => {
    const wallet = typeof item === 'object' && item && 'wallet' in item ? item.wallet : null;
    const count = (counts.get(wallet) ?? 0) + 1;
    counts.set(wallet, count);
    return count <= listMax;
  });
}

function shortened(text: string): string {
  const [, sign = '', first, rest = ''] = longNumber.exec(text) ?? [];
  if (first !== undefined) return `${sign}${first}.${rest.slice(0, digitsShown)}e+${rest.length}`;
  // The cut may have split a surrogate pair.
  return `${text.slice(0, textMax - 1).replace(/\p{Cs}$/u, '')}…`;
}
