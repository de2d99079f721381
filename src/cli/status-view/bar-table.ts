import { columnOf, packNotes, type TextStyle } from './terminal-text.ts';

/** `good`: as expected; `open`: in progress; `bad`: needs attention. */
export type Verdict = 'good' | 'open' | 'bad';

export type BarRow = {
  verdict: Verdict;
  name: string;
  part: number;
  whole: number;
  /** Position of a line across the bar, in the units of `whole`. */
  threshold?: number;
  counts: string;
  notes: string[];
};

const marks = { good: '✓', open: '…', bad: '✗' } as const;
const styles = { good: 'green', open: 'yellow', bad: 'red' } as const;
/** Minimum width beside the bar; with less, the notes go below it. */
const notesMin = 24;

/** Formats a line per row: mark, name, bar, counts, notes. If the width is too small, the notes go below. */
export function barTable(rows: BarRow[], canvas: TextStyle): string[] {
  const { width, paint } = canvas;
  const barWidth = Math.floor(width / 5);
  const names = columnOf(
    rows.map(({ name }) => name),
    Math.floor(width / 4),
  );
  const nameEnd = 4 + (names[0]?.length ?? 0) + 2;
  const counts = columnOf(
    rows.map((row) => row.counts),
    width - nameEnd - barWidth - 2,
    'right',
  );
  const countsEnd = nameEnd + barWidth + 2 + (counts[0]?.length ?? 0) + 2;
  const isBeside = width - countsEnd >= notesMin;
  const indent = ' '.repeat(isBeside ? countsEnd : nameEnd);
  return rows.flatMap((row, index) => {
    const mark = paint(styles[row.verdict], marks[row.verdict]);
    const line = `  ${mark} ${names[index]}  ${drawBar(row, barWidth, canvas)}  ${counts[index]}`;
    const [first = '', ...more] = packNotes(row.notes, width - indent.length);
    const below = (isBeside ? more : [first, ...more]).map((note) => `${indent}${note}`);
    return [isBeside ? `${line}  ${first}`.trimEnd() : line, ...below];
  });
}

/** Draws a full bar only when nothing is missing, and an empty one only when `part` is 0. */
function drawBar(
  { verdict, part, whole, threshold }: BarRow,
  width: number,
  { paint }: TextStyle,
): string {
  const share = whole > 0 ? Math.floor((part / whole) * width) : 0;
  const filled = part >= whole ? width : Math.max(part > 0 ? 1 : 0, Math.min(width - 1, share));
  const cells = `${'█'.repeat(filled)}${'░'.repeat(width - filled)}`;
  if (threshold === undefined) return painted(cells);
  const at = Math.min(width - 1, Math.round((threshold / whole) * width));
  return `${painted(cells.slice(0, at))}${paint('bold', '┃')}${painted(cells.slice(at + 1))}`;

  function painted(piece: string): string {
    const empty = piece.search('░');
    const end = empty < 0 ? piece.length : empty;
    const done = end > 0 ? paint(styles[verdict], piece.slice(0, end)) : '';
    const rest = end < piece.length ? paint('dim', piece.slice(end)) : '';
    return `${done}${rest}`;
  }
}
