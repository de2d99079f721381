const lengthMin = 3;
const lengthMax = 300;
/**
 * Digits up to which a bare number is refused as an address. Chains with numbered accounts write more than the number.
 */
const bareNumberMax = 20;

/** Texts that programs write for a missing value. */
const missingValues = new Set(['null', 'undefined', 'none', 'nan', 'nil', 'true', 'false']);

/**
 * Returns why a text is no address of any chain, or null if it may be one. An address is printable ASCII of 3 to 300
 * characters, safe in HTML, a shell and a spreadsheet.
 */
export function plainProblem(text: string): string | null {
  if (/[^\x21-\x7e]/.test(text)) return 'text with characters that no address has';
  if (text.length < lengthMin || text.length > lengthMax)
    return `not between ${lengthMin} and ${lengthMax} characters long`;
  if (/["'`<>\\]/.test(text)) return 'text with characters that no address has';
  if (/^[=+\-@]/.test(text)) return 'the beginning of a formula, not an address';
  if (missingValues.has(text.toLowerCase())) return 'the word for a missing value';
  if (/^\d+$/.test(text) && text.length <= bareNumberMax) return 'a bare number';
  return null;
}
