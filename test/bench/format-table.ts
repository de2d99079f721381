import type { FigureRow, Target } from './figures.ts';

const heads = ['', 'what', 'value', 'noise', 'floor', 'ratio', 'target', ''];

/** The figures as one table of GitHub's Markdown, columns aligned for a terminal. */
export function formatTable(rows: FigureRow[]): string {
  const lines = [heads, ...rows.map(cellsOf)];
  const widths = heads.map((_, column) =>
    Math.max(3, ...lines.map((line) => line[column]?.length ?? 0)),
  );
  const toLine = (cells: string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  const [head = [], ...body] = lines;
  const notes = rows.flatMap(({ part, note }) => (note ? [`${part}: ${note}`] : []));
  return [
    toLine(head),
    rule,
    ...body.map(toLine),
    ...(notes.length > 0 ? ['', ...notes] : []),
  ].join('\n');
}

function cellsOf(row: FigureRow): string[] {
  return [
    row.part,
    row.what,
    `${formatNumber(row.value)} ${row.unit}`,
    row.samples.length > 1 ? `±${Math.round((row.noise / 2) * 100)} %` : '',
    row.floor ? `${formatNumber(row.floor.value)} (${row.floor.what})` : '',
    row.ratio === undefined ? '' : row.ratio.toFixed(2),
    row.target ? formatTarget(row.target) : '',
    row.isReached === undefined ? '' : row.isReached ? 'reached' : 'MISSED',
  ];
}

function formatTarget(target: Target): string {
  const bound = 'atLeast' in target ? `≥ ${target.atLeast}` : `≤ ${target.atMost}`;
  return target.of === 'ratio' ? `ratio ${bound}` : bound;
}

function formatNumber(value: number): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 1 ? 1 : 3;
  return value.toLocaleString('en', { maximumFractionDigits: digits });
}
