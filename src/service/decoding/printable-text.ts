const lengthMax = 300;

/** Returns external text for one line of a log or an error: at most 300 characters; a cut text ends with `…`. */
export function printableText(text: string): string {
  const readMax = 4 * lengthMax;
  const line = printableLine(text.slice(0, readMax));
  if (text.length <= readMax && line.length <= lengthMax) return line;
  // The cut may have split a surrogate pair.
  return `${line.slice(0, lengthMax - 1).replace(/\p{Cs}$/u, '')}…`;
}

/** Returns a whole text as one line, without control, bidi or unpaired characters. */
export function printableLine(text: string): string {
  return text.replace(/[\p{C}\s]+/gu, ' ').trim();
}
