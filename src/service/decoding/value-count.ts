/** Error for a text with too many values or characters to parse at once. */
export class TooMuchToParse extends Error {
  constructor(
    max: number,
    unit: 'values' | 'different names' | 'characters outside of long numbers',
  ) {
    super(`an answer of more than ${max} ${unit}`);
  }
}

/**
 * Counts the commas and opening brackets of JSON, including those inside strings; 0 if the text is too short for more
 * than `max`. Throws TooMuchToParse for more than `max`.
 */
export function assertFewValues(text: string, max: number): number {
  if (text.length <= max) return 0;
  let values = 0;
  // Searching is thirty times as fast as a look at each of 8 MiB of characters.
  for (const mark of [',', '{', '[']) {
    for (let at = text.indexOf(mark); at >= 0; at = text.indexOf(mark, at + 1)) {
      values += 1;
      if (values > max) throw new TooMuchToParse(max, 'values');
    }
  }
  return values;
}

/** Throws TooMuchToParse for JSON whose fields have more than `max` different names. */
export function assertFewNames(text: string, max: number): void {
  const names = new Set<string>();
  for (let at = text.indexOf(':'); at >= 0; at = text.indexOf(':', at + 1)) {
    let end = at - 1;
    while (isBlank(text.charCodeAt(end))) end -= 1;
    if (text.charCodeAt(end) !== quote) continue;
    names.add(text.slice(text.lastIndexOf('"', end - 1) + 1, end));
    if (names.size > max) throw new TooMuchToParse(max, 'different names');
  }
}

const quote = 0x22;

/** Space, tab, line feed, carriage return. */
function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09 || code === 0x0a || code === 0x0d;
}
