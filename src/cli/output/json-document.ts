import { printableJson } from '../../kernel/printable-json.ts';

/**
 * Returns the one JSON document that a command prints with `--json`, without raw characters that control a terminal.
 */
export function jsonDocument(value: unknown): string {
  return `${printableJson(JSON.stringify(value, null, 2))}\n`;
}
