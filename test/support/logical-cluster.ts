import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { onDatabase, queryOnce } from './on-database.ts';
import { type Cluster, newCluster, runTool } from './postgres-cluster.ts';
import { type Service, withService } from './with-service.ts';

export type Published = Service & { cluster: Cluster };

/** A service whose ledger is in a cluster with wal_level logical. */
export async function withLogicalCluster(transactions: number): Promise<Published> {
  const cluster = await newCluster();
  appendFileSync(join(cluster.data, 'postgresql.conf'), 'wal_level = logical\n');
  await cluster.stop('fast');
  await cluster.start();
  const service = await withService({ transactions });
  const env = { ...service.env, DATABASE_URL: cluster.url() };
  return { ...service, env, cluster, query: (text) => queryOnce(cluster.url(), text) };
}

/**
 * Subscribes to the publication `books` from a second database of the cluster, whose structure docs/operations.md
 * creates. Returns its URL.
 */
export async function subscribe({ cluster, query }: Published, role = 'postgres'): Promise<string> {
  await query('create database copy');
  const [, options = ''] = /`pg_dump (--schema-only -n ledger[^`]*)`/.exec(runbook()) ?? [];
  const schema = await runTool('pg_dump', [...options.split(/\s+/), cluster.url()]);
  const copy = cluster.url('copy');
  // Without the lines for psql only.
  await onDatabase(copy, (client) => client.query(schema.replaceAll(/^\\.*$/gm, '')));
  // Within one cluster, CREATE SUBSCRIPTION would wait for its own transaction when it creates the slot.
  await query(`select pg_create_logical_replication_slot('copy', 'pgoutput')`);
  const publisher = new URL(cluster.url());
  publisher.username = role;
  await queryOnce(
    copy,
    `create subscription copy connection '${publisher}' publication books with (create_slot = false)`,
  );
  onTestFinished(async () => {
    await queryOnce(copy, 'alter subscription copy disable').catch(() => undefined);
  });
  return copy;
}

/** The block of SQL in docs/operations.md that begins with this text. */
export function runbookSql(beginning: string): string {
  const found = [...runbook().matchAll(/^ *```sql\n(.*?)^ *```$/gms)]
    .map(([, block = '']) => block.trim())
    .find((block) => block.startsWith(beginning));
  if (found === undefined) throw new Error(`docs/operations.md has no SQL "${beginning}"`);
  return found;
}

function runbook(): string {
  return readFileSync('docs/operations.md', 'utf8');
}
