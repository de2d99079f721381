import type { ErrorCode } from '../../kernel/errors.ts';
import { resourceCures } from '../../kernel/postgres-resources.ts';

/** Advice for an operator about an error of PostgreSQL. */
export type PostgresCure = { code: ErrorCode; cure: string };

/** Advice for a database that another program uses. */
export const anotherDatabase = 'name another database in DATABASE_URL';

/** Only a migration creates objects, so the objects that it collides with belong to another program. */
const foreign: PostgresCure = {
  code: 'settings',
  cure: `the schemas ledger and engine of this database belong to another program: ${anotherDatabase}`,
};
const outdated: PostgresCure = { code: 'unexpected', cure: 'run `wallet-ledger migrate`' };

/** Advice if the server has no certificate, or one that is not accepted. */
export const untrusted: PostgresCure = {
  code: 'database-unreachable',
  cure: "give PostgreSQL a certificate for its host name, and set the authority's certificate file: sslrootcert in DATABASE_URL, or NODE_EXTRA_CA_CERTS",
};

/** Advice where a connection pooler refuses, or ignores, the options of a session. */
export const pooled: PostgresCure = {
  code: 'settings',
  cure: 'DATABASE_URL names a connection pooler, such as PgBouncer: name PostgreSQL itself',
};

/** Advice where the server is a standby, or lets the role only read. */
export const readOnly: PostgresCure = {
  code: 'database-unreachable',
  cure: 'point DATABASE_URL at the primary server, with a role that may write',
};

/** Advice where the role may create no schema in the database. */
export const withoutCreate: PostgresCure = {
  code: 'rights',
  cure: 'give this role the right CREATE on the database (`grant create on database … to …`), or run `wallet-ledger migrate` with the role that owns the database',
};

/** Advice by SQLSTATE, or by its class. */
const cures: Record<string, PostgresCure> = {
  '25006': readOnly,
  '28': {
    code: 'database-unreachable',
    cure: 'check user and password in DATABASE_URL, and pg_hba.conf of the server',
  },
  // Raised by the functions of the schema ledger for what their caller gave.
  '22023': { code: 'usage', cure: 'correct the value' },
  '3D000': {
    code: 'database-unreachable',
    cure: 'create the database, or correct its name in DATABASE_URL',
  },
  '42501': {
    code: 'rights',
    cure: 'run `wallet-ledger migrate` as the owner of the schema ledger, and grant this role its rights',
  },
  '42P06': foreign,
  '42P07': foreign,
  '42710': foreign,
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
    cure: 'another session, such as a restore, locks the same tables in another order; run the command again',
  },
  '55000': {
    code: 'database-unreachable',
    cure: 'check that the database accepts connections (pg_database.datallowconn), then run the command again',
  },
  WL001: {
    code: 'database-moved',
    cure: 'run `wallet-ledger recover`: it shows what was found and what to do',
  },
};

/** Returns the advice for a SQLSTATE; undefined if an operator cannot act on it. */
export function cureOf(sqlState: string): PostgresCure | undefined {
  const cure = resourceCures[sqlState];
  if (cure !== undefined) return { code: 'database-unreachable', cure };
  return cures[sqlState] ?? cures[sqlState.slice(0, 2)];
}
