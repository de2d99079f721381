import { randomBytes } from 'node:crypto';
import { askForServer } from './ask-for-server.ts';
import { queryOnce } from './on-database.ts';

/**
 * A fresh, empty database for one test or file, on the server of TEST_DATABASE_URL or on the run's own.
 * `close` drops it, over whoever is still connected.
 */
export async function startPostgres(): Promise<{
  connectionString: string;
  close(): Promise<void>;
}> {
  const server = process.env['TEST_DATABASE_URL'] || (await askForServer('postgres'));
  if (!server) throw new Error('there is no PostgreSQL for the tests');
  const name = `wallet_ledger_test_${randomBytes(8).toString('hex')}`;
  await queryOnce(server, `create database ${name} template template0`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return {
    connectionString: url.toString(),
    async close() {
      await queryOnce(server, `drop database if exists ${name} with (force)`);
    },
  };
}
