/** The text has more values than may be parsed in one go. */
export class TooManyValues extends Error {
  constructor(max: number) {
    super(`an answer of more than ${max} values`);
  }
}

const [comma, brace, bracket] = [0x2c, 0x7b, 0x5b];

/** Throws TooManyValues for JSON with more commas and opening brackets than `max`; those in its texts count as well. */
export function assertFewValues(text: string, max: number): void {
  if (text.length <= max) return;
  let values = 0;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit === comma || unit === brace || unit === bracket) values += 1;
  }
  if (values > max) throw new TooManyValues(max);
}
