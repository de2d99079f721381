import { Column, is, sql } from 'drizzle-orm';
import { ColumnAliasProxyHandler } from 'drizzle-orm/alias';
import type { PgTable } from 'drizzle-orm/pg-core';
import * as address from './schema/addresses.ts';
import * as balance from './schema/balances.ts';
import * as coin from './schema/coins.ts';
import * as pool from './schema/pools.ts';
import * as reconciliation from './schema/reconciliation-runs.ts';
import * as reject from './schema/rejects.ts';
import * as stream from './schema/streams.ts';
import * as run from './schema/sync-runs.ts';
import * as transaction from './schema/transactions.ts';

// The tables as one wallet sees them: views of the schema `own`, with the rows of the wallet for which the ledger was
// opened (`connectLedger`). Statements of the program name these views. They name the tables themselves only for what
// concerns all wallets.

export const addresses = own(address.addresses);
export const addressRequests = own(address.addressRequests);
export const balances = own(balance.balances);
export const coins = own(coin.coins);
export const pools = own(pool.pools);
export const reconciliationRuns = own(reconciliation.reconciliationRuns);
export const rejects = own(reject.rejects);
export const scanNotes = own(stream.scanNotes);
export const streamProofs = own(stream.streamProofs);
export const streams = own(stream.streams);
export const syncRuns = own(run.syncRuns);
export const transactionChanges = own(transaction.transactionChanges);
export const transactions = own(transaction.transactions);

/**
 * Name of the wallet for which the ledger was opened. The function engine.wallet() returns the same, but a role that
 * may only read has no right to its schema.
 */
export const ownWallet = sql`coalesce(nullif(current_setting('ledger.wallet', true), ''), 'main')`;

/** Key under which Drizzle keeps a table's schema. */
const schemaKey = Symbol.for('drizzle:Schema');

/** Returns the table with the schema `own` in place of its own. Drizzle's aliases work in the same way. */
function own<T extends PgTable>(table: T): T {
  const seen: T = new Proxy(table, {
    get(target, key) {
      if (key === schemaKey) return 'own';
      const value: unknown = Reflect.get(target, key);
      return is(value, Column) ? new Proxy(value, new ColumnAliasProxyHandler(seen)) : value;
    },
  });
  return seen;
}
