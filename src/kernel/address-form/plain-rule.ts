const lengthMin = 3;
const lengthMax = 300;
/** Chains that number their accounts write more than the number. */
const bareNumberMax = 20;

/** Texts that programs write where a value is missing. */
const missingValues = new Set(['null', 'undefined', 'none', 'nan', 'nil', 'true', 'false']);

/**
 * Says why a text is no address of any chain, or null where it may be one: printable ASCII without blanks, of a sensible
 * length, harmless in a page, a shell and a spreadsheet.
 */
export function plainProblem(text: string): string | null {
  if (/[^\x21-\x7e]/.test(text)) return 'with characters that no address has';
  if (text.length < lengthMin || text.length > lengthMax)
    return `not between ${lengthMin} and ${lengthMax} characters long`;
  if (/["'`<>\\]/.test(text)) return 'with characters that no address has';
  if (/^[=+\-@]/.test(text)) return 'the beginning of a formula, not an address';
  if (missingValues.has(text.toLowerCase())) return 'the word for a missing value';
  if (/^\d+$/.test(text) && text.length <= bareNumberMax) return 'a bare number';
  return null;
}
