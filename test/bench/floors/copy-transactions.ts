import { onDatabase } from '../../support/on-database.ts';

/**
 * Copies the transactions of one ledger into the empty table of another one through a file of the server: the fastest
 * way into a table with its indexes. Returns the seconds of the import.
 */
export async function copyTransactions(from: string, to: string): Promise<number> {
  const file = await onDatabase(from, async (client) => {
    const found = await client.query<{ path: string }>(
      `select current_setting('data_directory') || '/bench-transactions.copy' as path`,
    );
    const path = found.rows[0]?.path ?? '';
    await client.query(`copy ledger.transactions to '${path}'`);
    await client.query('checkpoint');
    return path;
  });
  return onDatabase(to, async (client) => {
    const startedAt = performance.now();
    await client.query(`copy ledger.transactions from '${file}'`);
    const seconds = (performance.now() - startedAt) / 1_000;
    await client.query('checkpoint');
    return seconds;
  });
}
