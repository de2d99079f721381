import { type ErrorCode, LedgerError } from '../kernel/errors.ts';
import { databaseError } from '../ledger/connection/database-error.ts';
import { sqlStateOf } from '../ledger/connection/postgres-codes.ts';

/** SQLSTATEs of the ledger's functions that mean more to a caller than to an operator. */
const codes: Record<string, ErrorCode> = {
  WL002: 'position-ahead',
  WL003: 'events-deleted',
  '22023': 'usage',
  '54000': 'usage',
};

/** Converts a failure of the library's own statements to a LedgerError whose cure is for its caller. */
export function libraryError(error: unknown, role: string | null): Error {
  const state = sqlStateOf(error);
  const code = codes[state ?? ''];
  if (code !== undefined && error instanceof Error) {
    const { hint } = error as { hint?: string };
    const cure = hint ?? (code === 'usage' ? 'correct the arguments of the call' : undefined);
    return new LedgerError(code, error.message, { cause: error, ...(cure && { cure }) });
  }
  if (state === '42501' && error instanceof Error) {
    if (error.message.startsWith('the consumer ')) {
      return new LedgerError('usage', error.message, { cause: error, cure: 'use another name' });
    }
    const name = role ?? 'ROLE';
    return new LedgerError('rights', `the role ${name} lacks a right: ${error.message}`, {
      cause: error,
      cure: `run \`wallet-ledger migrate --issuer ${name} --consumer ${name}\` as the owner of the ledger: --issuer for addresses, --consumer for the feed`,
    });
  }
  return databaseError(error);
}
