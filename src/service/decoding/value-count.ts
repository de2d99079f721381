/** The text has more values or characters than may be parsed in one go. */
export class TooMuchToParse extends Error {
  constructor(max: number, unit: 'values' | 'characters beside numbers of many digits') {
    super(`an answer of more than ${max} ${unit}`);
  }
}

const [comma, brace, bracket] = [0x2c, 0x7b, 0x5b];

/** Throws TooMuchToParse for JSON with more commas and opening brackets than `max`; those in its texts count as well. */
export function assertFewValues(text: string, max: number): void {
  if (text.length <= max) return;
  let values = 0;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit === comma || unit === brace || unit === bracket) values += 1;
  }
  if (values > max) throw new TooMuchToParse(max, 'values');
}
