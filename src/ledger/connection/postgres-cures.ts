import type { ErrorCode } from '../../kernel/errors.ts';

/** Advice for an operator about an error of PostgreSQL. */
export type PostgresCure = { code: ErrorCode; cure: string };

const outdated: PostgresCure = { code: 'unexpected', cure: 'run `wallet-ledger migrate`' };

/** Advice if the server has no certificate, or one that is not accepted. */
export const untrusted: PostgresCure = {
  code: 'database-unreachable',
  cure: 'give PostgreSQL a certificate for its host name, and name its authority: sslrootcert in DATABASE_URL, or NODE_EXTRA_CA_CERTS',
};

/** Advice by SQLSTATE, or by its class. */
const cures: Record<string, PostgresCure> = {
  '28': {
    code: 'database-unreachable',
    cure: 'check user and password in DATABASE_URL, and pg_hba.conf of the server',
  },
  '3D000': {
    code: 'database-unreachable',
    cure: 'create the database, or correct its name in DATABASE_URL',
  },
  '42501': {
    code: 'unexpected',
    cure: 'run `wallet-ledger migrate` as the owner of the schema ledger, and grant this role its rights',
  },
  '3F000': outdated,
  '42P01': outdated,
  '42703': outdated,
  '42883': outdated,
  '55P03': {
    code: 'database-unreachable',
    cure: 'end the transaction that holds the lock: see pg_stat_activity and pg_blocking_pids()',
  },
  '40P01': {
    code: 'unexpected',
    cure: 'somebody else kept locking the same tables in another order, a restore say; run the command again',
  },
  '55000': {
    code: 'database-unreachable',
    cure: 'see whether the database accepts connections (pg_database.datallowconn), and run the command again',
  },
  WL001: {
    code: 'database-moved',
    cure: 'run `wallet-ledger recover`: it says what was found and what to do',
  },
  '53100': { code: 'database-unreachable', cure: 'make room on the disk of PostgreSQL' },
  '53300': {
    code: 'database-unreachable',
    cure: 'lower DATABASE_POOL_SIZE, or raise max_connections of PostgreSQL',
  },
};

/** Returns the advice for a SQLSTATE; undefined if an operator cannot act on it. */
export function cureOf(sqlState: string): PostgresCure | undefined {
  return cures[sqlState] ?? cures[sqlState.slice(0, 2)];
}
