import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { askForServer } from './ask-for-server.ts';

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
  await run(server, `create database ${name} template template0`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return {
    connectionString: url.toString(),
    close: () => run(server, `drop database if exists ${name} with (force)`),
  };
}

async function run(connectionString: string, statement: string): Promise<void> {
  const client = new Client({ connectionString });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
