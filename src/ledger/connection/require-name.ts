import { LedgerError } from '../../kernel/errors.ts';

const nameBytesMax = 63;

/** Throws LedgerError `usage` for a name that PostgreSQL would refuse or shorten. */
export function requireName(kind: 'role' | 'publication', name: string): void {
  const bytes = Buffer.byteLength(name);
  if (bytes > 0 && bytes <= nameBytesMax && !name.includes('\0')) return;
  const message = `a ${kind}'s name has 1 to ${nameBytesMax} bytes`;
  throw new LedgerError('usage', message, { cure: `name another ${kind}` });
}
