import { LedgerError } from '../kernel/errors.ts';
import type { Ask } from './ask-database.ts';

/** Version of `ledger.contract` that the library needs: the same major version, and at least this minor one. */
const contract = { major: 1, minor: 5 };

const migrate =
  'run `wallet-ledger migrate` with the DATABASE_URL of the role that owns the ledger';

/**
 * Returns the role of the connections. Throws LedgerError `schema-older` or `schema-newer` if the schema is missing or
 * of a version that the library cannot use. Reads only the catalogue, so the role needs no rights for this.
 */
export async function requireSchema(ask: Ask): Promise<string> {
  const [facts] = await ask<{ role: string; database: string; version: string | null }>(`
    select current_user::text as role, current_database()::text as database,
           (select substring(p.prosrc from '''(\\d+\\.\\d+)''')
              from pg_proc p join pg_namespace n on n.oid = p.pronamespace
             where n.nspname = 'ledger' and p.proname = 'contract_version') as version`);
  if (!facts) throw new Error('the query of the schema version returned no row');
  const { role, database, version } = facts;
  if (version === null) {
    const message = `the database ${database} has no ledger yet, or one of an earlier version`;
    throw new LedgerError('schema-older', message, { cure: migrate });
  }
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const found = `the ledger of the database ${database} has version ${version} of the contract`;
  if (major > contract.major) {
    throw new LedgerError('schema-newer', found, {
      cure: 'install the version of wallet-ledger that migrated this database, or a later one',
    });
  }
  if (major < contract.major || minor < contract.minor) {
    const needed = `this library needs ${contract.major}.${contract.minor}`;
    throw new LedgerError('schema-older', `${found}; ${needed}`, { cure: migrate });
  }
  return role;
}
