import type { ErrorCode } from '../../kernel/errors.ts';

/** What an operator can do about what PostgreSQL said. */
export type PostgresCure = { code: ErrorCode; cure: string };

const outdated: PostgresCure = { code: 'unexpected', cure: 'run `wallet-ledger migrate`' };

/** Where the server's certificate is not accepted, or it has none. */
export const untrusted: PostgresCure = {
  code: 'database-unreachable',
  cure: 'give PostgreSQL a certificate for its host name, and name its authority: sslrootcert in DATABASE_URL, or NODE_EXTRA_CA_CERTS',
};

/** By SQLSTATE, or by the class that it begins with. */
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

/** Undefined where the state says nothing that an operator could act on. */
export function cureOf(sqlState: string): PostgresCure | undefined {
  return cures[sqlState] ?? cures[sqlState.slice(0, 2)];
}
