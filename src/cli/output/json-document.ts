import { printableJson } from '../../kernel/printable-json.ts';

/** Returns what a command prints with `--json`: one document, without raw characters that a terminal acts on. */
export function jsonDocument(value: unknown): string {
  return `${printableJson(JSON.stringify(value, null, 2))}\n`;
}
