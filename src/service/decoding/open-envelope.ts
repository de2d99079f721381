import { limits } from '../limits.ts';
import { ExactNumber, parseExactJson, parseTolerantJson } from './exact-json.ts';
import { integerIn } from './field-readers.ts';
import { assertFewValues, TooMuchToParse } from './value-count.ts';

const maxCode = Number.MAX_SAFE_INTEGER;

/** Section 2.1 of the service's document; `code` as text, whatever number or text it came as. */
export type Envelope = { code: string; message: string; data: unknown };

/**
 * Reads the envelope of an answer, or says why there is none. Never throws. `isTolerant`: NaN and
 * the like in the place of a number do not spoil the rest.
 */
export function openEnvelope(rawBody: string, isTolerant = false): Envelope | { problem: string } {
  if (rawBody.trim() === '') return { problem: 'an empty answer' };
  let envelope: unknown;
  try {
    assertFewValues(rawBody, limits.answerValues.max);
    envelope = isTolerant ? parseTolerantJson(rawBody) : parseExactJson(rawBody);
  } catch (error) {
    const isTooLarge = error instanceof TooMuchToParse;
    return { problem: isTooLarge ? error.message : 'an answer that is not JSON' };
  }
  if (typeof envelope !== 'object' || envelope === null || Array.isArray(envelope)) {
    return { problem: 'an answer that is not an envelope of code, data and msg' };
  }
  const { code, msg, data } = envelope as Record<string, unknown>;
  const codeText = textOfCode(code);
  if (codeText.trim() === '') return { problem: 'an answer without a code' };
  return { code: codeText, message: typeof msg === 'string' ? msg : '', data };
}

/** '' for what is no code; an object is not asked for its text, for it may bring a toString of its own. */
function textOfCode(code: unknown): string {
  const isDecimal = code instanceof ExactNumber || (typeof code === 'string' && code.includes('.'));
  const integer = isDecimal ? integerIn(code, -maxCode, maxCode) : null;
  if (integer !== null) return String(integer);
  if (code instanceof ExactNumber) return code.text;
  return typeof code === 'string' || typeof code === 'number' ? String(code) : '';
}
