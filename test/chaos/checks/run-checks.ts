import type pg from 'pg';
import { addressChecks } from './address-checks.ts';
import { assetChecks } from './asset-checks.ts';
import { callChecks } from './call-checks.ts';
import type { Check, CheckContext, CheckResult } from './check-types.ts';
import { historyChecks } from './history-checks.ts';
import { requestChecks } from './request-checks.ts';
import { streamChecks } from './stream-checks.ts';
import { transactionChecks } from './transaction-checks.ts';

const checks: readonly Check[] = [
  ...transactionChecks,
  ...historyChecks,
  ...streamChecks,
  ...assetChecks,
  ...addressChecks,
  ...requestChecks,
  ...callChecks,
];

const samplesMax = 5;

/** Matches the ids of checks on facts that a ledger loses when it is restored to an earlier state. */
const unknowableAfterMove =
  /^(history\.|requests\.(one-open|lost-answer|written-down|ceiling)|addresses\.(handed-out-once|lost))/;

/**
 * Compares schema `ledger` with schema `oracle` of the same database. It writes nothing but the context, as tables
 * oracle.settings and oracle.taken, so that every query can be run again by hand.
 */
export async function runChecks(
  client: pg.Client | pg.Pool,
  context: CheckContext,
): Promise<CheckResult[]> {
  await client.query(`
    drop table if exists oracle.settings, oracle.taken;
    create table oracle.settings (pool_max_per_day integer not null, max_rps float8);
    create table oracle.taken (slip44 integer not null, reference text, address text not null)`);
  await client.query('insert into oracle.settings values ($1, $2)', [
    context.poolMaxPerDay,
    context.maxRps ?? null,
  ]);
  await client.query(
    'insert into oracle.taken select * from json_populate_recordset(null::oracle.taken, $1)',
    [JSON.stringify(context.taken ?? [])],
  );
  const results: CheckResult[] = [];
  const knowable = checks.filter(({ id }) => !context.hasMoved || !unknowableAfterMove.test(id));
  for (const { id, promise, sql } of knowable) {
    const found = await client.query<{ violations: number; samples: unknown[] }>(`
      with violation as materialized (${sql})
      select (select count(*)::int from violation) as violations,
             (select coalesce(json_agg(v), '[]') from (select * from violation limit ${samplesMax}) v) as samples`);
    results.push({ id, promise, violations: 0, samples: [], ...found.rows[0] });
  }
  return results;
}
