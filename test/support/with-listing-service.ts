import pg from 'pg';
import { onTestFinished } from 'vitest';
import { type ListingService, startListingService } from './listing-service.ts';
import { startPostgres } from './start-postgres.ts';

export type Query = (text: string) => Promise<Record<string, unknown>[]>;

/** A service that answers with the data of a test, and a database with the schema; closed with the test. */
export async function withListingService(): Promise<{
  service: ListingService;
  /** The environment in which the program reaches both. */
  env: Record<string, string>;
  query: Query;
}> {
  const service = await startListingService();
  onTestFinished(() => service.close());
  const database = await startPostgres({ isMigrated: true });
  onTestFinished(() => database.close());
  const pool = new pg.Pool({ connectionString: database.connectionString, max: 1 });
  pool.on('error', () => undefined);
  onTestFinished(() => pool.end());
  const env = {
    WALLET_BASE_URL: service.baseUrl,
    WALLET_API_SECRET: '6d59626f7ffffa64f8a6b36e9fcc9551b54a1dfebb973606d24578adecebfbaf',
    WALLET_MAX_RPS: 'off',
    DATABASE_URL: database.connectionString,
    HTTP_PORT: '0',
  };
  return { service, env, query: async (text) => (await pool.query(text)).rows };
}

const views = [
  ...['daily_flows', 'pending_transactions', 'balance_history', 'pool_levels', 'reconciliation'],
  ...['state_transitions', 'sync_health', 'balances_at(now())', 'transactions_at(now())'],
];

/** The views that fail, with the reason. */
export async function failingViews(query: Query): Promise<string[]> {
  const failing: string[] = [];
  for (const view of views) {
    await query(`select count(to_jsonb(v)) from ledger.${view} v`).catch((error: unknown) =>
      failing.push(`${view}: ${String(error)}`),
    );
  }
  return failing;
}

/** Sums over everything, as text; each is a number unless a summand is NaN. */
export async function sums(query: Query): Promise<string[]> {
  const rows = await query(`
    select sum(amount)::text as sum from ledger.transactions
    union all select sum(fee)::text from ledger.transactions
    union all select sum(amount)::text from ledger.daily_flows
    union all select sum(balance)::text from ledger.balances
    union all select sum(expected + reported)::text from ledger.reconciliation`);
  return rows.flatMap(({ sum }) => (typeof sum === 'string' ? [sum] : []));
}
