import type { BadLine, HandedOut } from '../ledger/addresses/handed-out-store.ts';

/**
 * Reads CSV lines of chain (slip44), address and reference. Allows a header line, empty lines, and fields in double
 * quotes. An empty or missing reference means that the address was handed out without one.
 */
export function readHandedOut(text: string): { list: HandedOut[]; bad: BadLine[] } {
  const list: HandedOut[] = [];
  const bad: BadLine[] = [];
  for (const [index, row] of text
    .replace(/^\ufeff/, '')
    .split(/\r?\n/)
    .entries()) {
    const line = index + 1;
    if (row.trim() === '') continue;
    const fields = splitFields(row);
    if (index === 0 && fields?.[0]?.toLowerCase() === 'slip44') continue;
    const read = fields ? readLine(line, fields) : 'a quoted field does not end';
    if (typeof read === 'string') bad.push({ line, reason: read });
    else list.push(read);
  }
  return { list, bad };
}

/** Limit of `engine.admit_take`: a longer reference may not fit into the index. */
const referenceBytesMax = 2_000;

function readLine(line: number, fields: string[]): HandedOut | string {
  const [chain = '', address = '', reference = '', ...rest] = fields;
  if (rest.length > 0 || fields.length < 2)
    return `it has ${fields.length} fields, not chain, address and reference`;
  if (!/^\d{1,10}$/.test(chain) || Number(chain) > 2_147_483_647)
    return `${JSON.stringify(chain)} is not the slip44 code of a chain`;
  if (address === '') return 'the address is empty';
  const bytes = Buffer.byteLength(reference);
  if (bytes > referenceBytesMax)
    return `the reference has ${bytes} bytes, and at most ${referenceBytesMax} are accepted`;
  return { line, slip44: Number(chain), address, reference: reference === '' ? null : reference };
}

/** Splits a line into fields and trims unquoted ones; null if a quoted field does not end on its line. */
function splitFields(row: string): string[] | null {
  const fields: string[] = [];
  const field = /\s*(?:"((?:[^"]|"")*)"\s*|([^",]*))(,|$)/y;
  for (;;) {
    const match = field.exec(row);
    if (!match) return null;
    fields.push(match[1] === undefined ? (match[2] ?? '').trim() : match[1].replaceAll('""', '"'));
    if (match[3] === '') return fields;
  }
}
