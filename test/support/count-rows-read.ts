import type { Client, PoolClient } from 'pg';

/** Returns the number of rows of a table that `work` reads on this connection, inside the open transaction. */
export async function countRowsRead(
  client: Client | PoolClient,
  table: string,
  work: () => Promise<unknown>,
): Promise<number> {
  // The server still counts the reads of earlier transactions until it has added them up.
  const read = async () => {
    const { rows } = await client.query(
      `select seq_tup_read + idx_tup_fetch as read from pg_stat_xact_user_tables where relname = $1`,
      [table],
    );
    return Number(rows[0].read);
  };
  const before = await read();
  await work();
  return (await read()) - before;
}
