import { sql } from 'drizzle-orm';
import { bigint, index, primaryKey, text } from 'drizzle-orm/pg-core';
import { instant, ledger, wallet } from './ledger-schema.ts';

export const syncRuns = ledger.table(
  'sync_runs',
  {
    wallet: wallet(),
    id: bigint('id', { mode: 'number' }).notNull().generatedAlwaysAsIdentity(),
    job: text('job').notNull(),
    startedAt: instant('started_at').notNull(),
    finishedAt: instant('finished_at').notNull(),
    outcome: text('outcome').notNull(),
    requests: bigint('requests', { mode: 'number' }).notNull(),
    rowsSeen: bigint('rows_seen', { mode: 'number' }).notNull(),
    rowsInserted: bigint('rows_inserted', { mode: 'number' }).notNull(),
    rowsUpdated: bigint('rows_updated', { mode: 'number' }).notNull(),
    error: text('error'),
  },
  (table) => [
    primaryKey({ columns: [table.wallet, table.id] }),
    index('sync_runs_finished_at').on(table.finishedAt),
    index('sync_runs_job').on(table.wallet, table.job, table.id),
    index('sync_runs_succeeded')
      .on(table.wallet, table.job, table.id)
      .where(sql`${table.outcome} in ('done', 'incomplete')`),
  ],
);
