import { Client } from 'pg';

/** Runs `work` on a new connection. */
export async function onDatabase<T>(
  connectionString: string,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const client = new Client({ connectionString });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** The rows of one statement, on a new connection. */
export function queryOnce<Row extends object = Record<string, unknown>>(
  connectionString: string,
  statement: string,
  values?: unknown[],
): Promise<Row[]> {
  return onDatabase(
    connectionString,
    async (client) => (await client.query<Row>(statement, values)).rows,
  );
}
