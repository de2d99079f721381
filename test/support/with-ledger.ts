import pg from 'pg';
import { afterAll } from 'vitest';
import type { Log } from '../../src/kernel/log.ts';
import { connectLedger, type Ledger } from '../../src/ledger/connection/connect-ledger.ts';
import { startPostgres } from './start-postgres.ts';

export type TestLedger = {
  connectionString: string;
  ledger: Ledger;
  /** Messages that the ledgers logged, lost transactions among them. */
  logged: string[];
  /** Another ledger on the same database, as a second process would open it. */
  connect(connectionString?: string): Ledger;
  query<Row extends Record<string, unknown>>(statement: string): Promise<Row[]>;
  /** Runs statements that write many rows and may exceed the program's time limits on a busy machine. */
  fill(...statements: string[]): Promise<void>;
  /** Empties the tables that the stores write. */
  clear(): Promise<void>;
};

/** A fresh database for this file, migrated by default; everything is closed after the file. */
export async function withLedger(options: { isMigrated?: boolean } = {}): Promise<TestLedger> {
  const isMigrated = options.isMigrated ?? true;
  const database = await startPostgres({ isMigrated });
  const opened: Ledger[] = [];
  const logged: string[] = [];
  const write: Log['info'] = (_fields, message) => void logged.push(message);
  const connect = (connectionString = database.connectionString) => {
    const ledger = connectLedger({
      connectionString,
      poolSize: 8,
      log: { debug: write, info: write, warn: write, error: write },
    });
    opened.push(ledger);
    return ledger;
  };
  const ledger = connect();
  afterAll(async () => {
    await Promise.all(opened.map((each) => each.close()));
    await database.close();
  });
  return {
    connectionString: database.connectionString,
    ledger,
    logged,
    connect,
    async query<Row extends Record<string, unknown>>(statement: string) {
      return (await ledger.pool.query<Row>(statement)).rows;
    },
    async fill(...statements: string[]) {
      const client = new pg.Client({ connectionString: database.connectionString });
      await client.connect();
      try {
        for (const statement of statements) await client.query(statement);
      } finally {
        await client.end();
      }
    },
    async clear() {
      await ledger.pool.query(
        ['transactions', 'transaction_changes', 'streams', 'final_states', 'addresses']
          .concat(
            'balances',
            'balance_changes',
            'coins',
            'coin_changes',
            'rejects',
            'pools',
            'address_requests',
          )
          .concat('reconciliation_runs', 'sync_runs')
          .map((table) => `delete from ledger.${table}`)
          .concat(
            'delete from engine.snapshots',
            'delete from engine.moves',
            'delete from engine.detail_checks',
            'delete from engine.chain_assignments',
            'delete from engine.chain_addresses',
          )
          // Deleted addresses are a sign of a restore.
          .concat('update engine.home set disturbed_by = null, own_xid = pg_current_xact_id()::xid')
          .join(';'),
      );
    },
  };
}
