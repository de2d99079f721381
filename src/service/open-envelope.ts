import { ExactNumber, parseExactJson } from './exact-json.ts';

/** Section 2.1 of the service's document; `code` as text, whatever number or text it came as. */
export type Envelope = { code: string; message: string; data: unknown };

/** Reads the envelope of an answer, or says why there is none. Never throws. */
export function openEnvelope(rawBody: string): Envelope | { problem: string } {
  if (rawBody.trim() === '') return { problem: 'an empty answer' };
  let envelope: unknown;
  try {
    envelope = parseExactJson(rawBody);
  } catch {
    return { problem: 'an answer that is not JSON' };
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
  if (code instanceof ExactNumber) return code.text;
  return typeof code === 'string' || typeof code === 'number' ? String(code) : '';
}
