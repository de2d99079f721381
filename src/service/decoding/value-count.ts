/** Error for a text with too many values or characters to parse at once. */
export class TooMuchToParse extends Error {
  constructor(max: number, unit: 'values' | 'characters beside numbers of many digits') {
    super(`an answer of more than ${max} ${unit}`);
  }
}

const [comma, brace, bracket] = [0x2c, 0x7b, 0x5b];

/** Throws TooMuchToParse for JSON with more than `max` commas and opening brackets, including those inside strings. */
export function assertFewValues(text: string, max: number): void {
  if (text.length <= max) return;
  let values = 0;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit === comma || unit === brace || unit === bracket) values += 1;
  }
  if (values > max) throw new TooMuchToParse(max, 'values');
}
