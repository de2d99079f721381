import { Buffer, isUtf8 } from 'node:buffer';
import { LedgerError } from '../kernel/errors.ts';

/** Bytes of an answer after decompression: a hundred times a page of 200 rows. */
const bodyBytesMax = 8 * 1024 * 1024;

/**
 * The whole body as text, '' where there is none. Throws service-malformed for a body beyond 8 MiB, of which the
 * rest is not read, and for one that is not UTF-8.
 */
export async function readBody(response: Response): Promise<string> {
  if (!response.body) return '';
  const body = isSurelyShort(response.headers)
    ? Buffer.from(await response.arrayBuffer())
    : await readBounded(response.body);
  if (!isUtf8(body)) throw new LedgerError('service-malformed', 'an answer that is not UTF-8');
  return body.toString().replace(/^\uFEFF/, '');
}

/** The announced length bounds the body, unless that is packed. Reading chunk by chunk costs a third more. */
function isSurelyShort(headers: Headers): boolean {
  const length = headers.get('content-length');
  return length !== null && Number(length) <= bodyBytesMax && !headers.has('content-encoding');
}

async function readBounded(stream: ReadableStream<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // Leaving the loop early cancels the stream, and so frees the connection.
  for await (const chunk of stream) {
    bytes += chunk.length;
    if (bytes > bodyBytesMax) {
      throw new LedgerError('service-malformed', `an answer of more than ${bodyBytesMax} bytes`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, bytes);
}
