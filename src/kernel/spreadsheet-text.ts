/** A text that a spreadsheet takes for a formula, or one whose own apostrophe would be taken for ours. */
const formula = /^['=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]/;

/**
 * Returns the text with an apostrophe before it where a spreadsheet would run it as a formula, or where it begins with
 * an apostrophe. So the text is what follows one leading apostrophe, where there is one.
 */
export function harmlessText(text: string): string {
  return formula.test(text) ? `'${text}` : text;
}
