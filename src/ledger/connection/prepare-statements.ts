import { createHash } from 'node:crypto';
import type pg from 'pg';

/** Prefix of a statement that is planned for each run, because the size of its tables changes. */
const plannedAnew = '/* planned anew */';

const names = new Map<string, string>();

/**
 * Lets PostgreSQL keep the plans of statements with parameters on this connection. Planning the largest ones costs as
 * much as running them for a few rows. Batches are passed as arrays, so there are few different texts.
 */
export function prepareStatements(client: pg.PoolClient): void {
  const query = client.query.bind(client) as (...args: unknown[]) => unknown;
  const named = (config: unknown, ...rest: unknown[]) => query(withName(config, rest[0]), ...rest);
  client.query = named as typeof client.query;
}

// Leaves statements without parameters as they are: a migration may hold several in one text.
function withName(config: unknown, values: unknown): unknown {
  const hasText = typeof config === 'object' && config !== null && 'text' in config;
  if (!hasText || !Array.isArray(values) || values.length === 0) return config;
  const text = String(config.text);
  if (text.startsWith(plannedAnew)) return config;
  const name = names.get(text) ?? createHash('sha1').update(text).digest('hex');
  names.set(text, name);
  return { ...config, name };
}
