import { harmlessText } from '../../kernel/spreadsheet-text.ts';

/** A number, whose minus sign begins no formula. */
const decimal = /^-?\d+(\.\d+)?$/;

/**
 * Writes rows as CSV (RFC 4180), each value in quotes. A value that a spreadsheet would run as a formula gets an
 * apostrophe before it. Null is empty.
 */
export function toCsv(names: readonly string[], rows: readonly (string | null)[][]): string {
  return [names, ...rows].map((row) => `${row.map(cell).join(',')}\r\n`).join('');
}

function cell(value: string | null): string {
  if (value === null) return '';
  const harmless = decimal.test(value) ? value : harmlessText(value);
  return `"${harmless.replaceAll('"', '""')}"`;
}
