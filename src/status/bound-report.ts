import type { StatusReport } from './status-report.ts';

const textMax = 500;
const listMax = 500;
const digitsShown = 20;
const longNumber = /^(-?)(\d)(\d+)(?:\.\d*)?$/;

/**
 * Returns the report with lists of at most 500 items and texts of at most 500 characters. The service can send any
 * number and length, and the report is shown on pages, terminals and as metrics. A cut text ends with `…`; the digits
 * of a cut number are truncated and followed by an exponent.
 */
export function boundReport(report: StatusReport): StatusReport {
  const beyond = (list: unknown[]) => Math.max(0, list.length - listMax);
  return {
    ...(bounded(report) as StatusReport),
    leftOut: {
      balances: Math.max(0, report.balanceCount - listMax),
      unexplainedDifferences: beyond(report.unexplainedDifferences),
      problems: beyond(report.problems),
    },
  };
}

function bounded(value: unknown): unknown {
  if (typeof value === 'string') return value.length > textMax ? shortened(value) : value;
  if (Array.isArray(value)) return value.slice(0, listMax).map(bounded);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, bounded(item)]));
}

function shortened(text: string): string {
  const [, sign = '', first, rest = ''] = longNumber.exec(text) ?? [];
  if (first !== undefined) return `${sign}${first}.${rest.slice(0, digitsShown)}e+${rest.length}`;
  // The cut may have split a surrogate pair.
  return `${text.slice(0, textMax - 1).replace(/\p{Cs}$/u, '')}…`;
}
