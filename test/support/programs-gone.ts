import { until } from './until.ts';

/**
 * Waits until the caller's session is the only one of its database. A session that ends reports its counts before it
 * leaves pg_stat_activity, so the statistics of the server are complete after this.
 */
export async function programsGone(
  query: (text: string) => Promise<Record<string, unknown>[]>,
): Promise<void> {
  await until(async () => {
    const others = await query(`
      select from pg_stat_activity
       where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()`);
    return others.length === 0;
  });
}
