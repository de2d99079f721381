import { randomBytes } from 'node:crypto';
import { askForServer } from './ask-for-server.ts';
import { queryOnce } from './on-database.ts';

/** Repeats the steps of the migrations that depend on the current database, because a copy needs them again. */
const settle = (name: string) => `
  revoke connect, temporary on database ${name} from public;
  update engine.home set own_xid = pg_current_xact_id()::xid, (own_oid, addresses_oid, database_oid, begun_at) =
         (select f.own_oid, f.addresses_oid, f.database_oid, now() from engine.home_facts() f);
  update engine.ticket_witness set own_xid = pg_current_xact_id()::xid,
         database_oid = (select oid from pg_database where datname = current_database())`;

/**
 * A fresh database for one test or file, on the server of TEST_DATABASE_URL or that of the run: empty, or with the
 * program's schema as a copy of the run's template, which saves the migrations. `close` drops it despite open
 * connections.
 */
export async function startPostgres({ isMigrated = false } = {}): Promise<{
  connectionString: string;
  close(): Promise<void>;
}> {
  const server = process.env['TEST_DATABASE_URL'] || (await askForServer('postgres'));
  if (!server) throw new Error('there is no PostgreSQL for the tests');
  const template = isMigrated ? await askForServer('template') : 'template0';
  const url = new URL(server);
  url.pathname = `/wallet_ledger_test_${randomBytes(8).toString('hex')}`;
  const name = url.pathname.slice(1);
  // Copying files takes a third of the processor time of writing each page to the log first.
  await queryOnce(server, `create database ${name} template ${template} strategy file_copy`);
  if (isMigrated) await queryOnce(url.toString(), settle(name));
  return {
    connectionString: url.toString(),
    async close() {
      await queryOnce(server, `drop database if exists ${name} with (force)`);
    },
  };
}
