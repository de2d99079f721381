import { Buffer, isUtf8 } from 'node:buffer';
import { LedgerError } from '../kernel/errors.ts';

/** The whole body as text, '' where there is none. Throws service-malformed for one that is not UTF-8. */
export async function readBody(response: Response): Promise<string> {
  if (!response.body) return '';
  const body = Buffer.from(await response.arrayBuffer());
  if (!isUtf8(body)) throw new LedgerError('service-malformed', 'an answer that is not UTF-8');
  return body.toString().replace(/^\uFEFF/, '');
}
