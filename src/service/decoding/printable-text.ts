const lengthMax = 300;

/**
 * Returns external text for one line of a log or an error: at most 300 characters, without control, bidi or unpaired
 * characters.
 */
export function printableText(text: string): string {
  return (
    text
      .slice(0, 4 * lengthMax)
      .replace(/[\p{C}\s]+/gu, ' ')
      .trim()
      .slice(0, lengthMax)
      // Removes half of a surrogate pair that the cut has split.
      .replace(/\p{Cs}$/u, '')
  );
}
