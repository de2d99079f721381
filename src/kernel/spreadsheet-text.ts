/** Matches a text that a spreadsheet runs as a formula, and one that already begins with an apostrophe. */
const formula = /^['=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]/;

/**
 * Puts an apostrophe before a text that a spreadsheet would run as a formula, and before one that begins with an
 * apostrophe. So the original text is always what follows one leading apostrophe.
 */
export function harmlessText(text: string): string {
  return formula.test(text) ? `'${text}` : text;
}
