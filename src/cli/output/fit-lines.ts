import { wrap } from '../status-view/terminal-text.ts';

/** Narrower terminals get lines of this width, which they break themselves. */
const columnsMin = 40;

/**
 * Breaks each line that is longer than a terminal between its words; the rest of the line is indented by two columns
 * more. Without `columns` the output is no terminal, and every line stays whole.
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
