import { wrap } from '../status-view/terminal-text.ts';

/** Lines are not made narrower than this; a narrower terminal breaks them itself. */
const columnsMin = 40;

/**
 * Breaks each line that is longer than the terminal is wide, between words. The rest of the line is indented by two
 * more columns. Without `columns` the output is no terminal, and every line stays as it is.
 */
export function fitLines(text: string, columns: number | undefined): string {
  if (columns === undefined) return text;
  return text
    .split('\n')
    .map((line) => fitLine(line, Math.max(columnsMin, columns)))
    .join('\n');
}

function fitLine(line: string, width: number): string {
  if (line.length <= width) return line;
  const [, indent = '', words = ''] = /^(\s*)(.*)$/s.exec(line) ?? [];
  return wrap(words, width - indent.length - 2)
    .join(`\n${indent}  `)
    .replace(/^/, indent);
}
