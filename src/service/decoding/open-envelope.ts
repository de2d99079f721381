import { limits } from '../limits.ts';
import { ExactNumber, parseExactJson, parseTolerantJson } from './exact-json.ts';
import { integerIn } from './field-readers.ts';
import { assertFewNames, assertFewValues, TooMuchToParse } from './value-count.ts';

const maxCode = Number.MAX_SAFE_INTEGER;

/**
 * Envelope of an answer (docs/wallet-service-api.md, section 2.1), with `code` as text even if the service sent a
 * number.
 */
export type Envelope = { code: string; message: string; data: unknown };

/**
 * Reads the envelope of an answer, or returns the problem. Never throws. `isTolerant` accepts a bare NaN or Infinity in
 * place of a number.
 */
export function openEnvelope(rawBody: string, isTolerant = false): Envelope | { problem: string } {
  if (rawBody.trim() === '') return { problem: 'an empty answer' };
  let envelope: unknown;
  try {
    const values = assertFewValues(rawBody, limits.answerValues.max);
    if (values > limits.answerNames.max) assertFewNames(rawBody, limits.answerNames.max);
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

/** Returns '' if the value is not a code. Does not convert objects, which may define their own toString. */
function textOfCode(code: unknown): string {
  const isDecimal = code instanceof ExactNumber || (typeof code === 'string' && code.includes('.'));
  const integer = isDecimal ? integerIn(code, -maxCode, maxCode) : null;
  if (integer !== null) return String(integer);
  if (code instanceof ExactNumber) return code.text;
  return typeof code === 'string' || typeof code === 'number' ? String(code) : '';
}
