import pg from 'pg';
import { onTestFinished } from 'vitest';
import type { SandboxOptions } from '../../src/sandbox/sandbox-options.ts';
import { sandboxSettings } from '../../src/sandbox/sandbox-settings.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/start-sandbox.ts';
import { startPostgres } from './start-postgres.ts';

export type Service = {
  sandbox: Sandbox;
  /** The environment in which the program reaches service and database. */
  env: Record<string, string>;
  query(text: string): Promise<Record<string, unknown>[]>;
};

/** A sandbox service and a database for processes under test, with the schema by default; closed with the test. */
export async function withService(
  options: Partial<SandboxOptions> = {},
  { isMigrated = true } = {},
): Promise<Service> {
  const sandbox = await startSandbox({ signer: 'params-hmac', settleMs: 0, ...options });
  onTestFinished(() => sandbox.close());
  const database = await startPostgres({ isMigrated });
  onTestFinished(() => database.close());
  const pool = new pg.Pool({ connectionString: database.connectionString, max: 1 });
  pool.on('error', () => undefined);
  onTestFinished(() => pool.end());
  return {
    sandbox,
    env: {
      ...sandboxSettings(sandbox),
      DATABASE_URL: database.connectionString,
      WALLET_MAX_RPS: 'off',
      HTTP_PORT: '0',
    },
    query: async (text) => (await pool.query(text)).rows,
  };
}
