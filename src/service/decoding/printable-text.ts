const lengthMax = 300;

/** Foreign text for one line of a log or an error: no control, bidi or unpaired characters, 300 characters at most. */
export function printableText(text: string): string {
  return (
    text
      .slice(0, 4 * lengthMax)
      .replace(/[\p{C}\s]+/gu, ' ')
      .trim()
      .slice(0, lengthMax)
      // The cut may have split a pair.
      .replace(/\p{Cs}$/u, '')
  );
}
