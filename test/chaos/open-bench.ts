import pg from 'pg';
import { startPostgres } from '../support/start-postgres.ts';
import type { Oracle, OracleOptions } from './oracle/oracle-types.ts';
import { startOracle } from './oracle/start-oracle.ts';

/** The service and an empty database, with the environment for commands on both. */
type Bench = {
  oracle: Oracle;
  client: pg.Client;
  env: Record<string, string>;
  close(): Promise<void>;
};

export async function openBench(options: OracleOptions): Promise<Bench> {
  const oracle = await startOracle(options);
  const database = await startPostgres();
  const client = new pg.Client({ connectionString: database.connectionString });
  await client.connect();
  const env = {
    WALLET_BASE_URL: oracle.baseUrl,
    WALLET_API_SECRET: oracle.privateKey,
    WALLET_MAX_RPS: 'off',
    POOL_SETTLE: '10ms',
    DATABASE_URL: database.connectionString,
  };
  const close = async () => {
    await client.end();
    await database.close();
    await oracle.close();
  };
  return { oracle, client, env, close };
}
