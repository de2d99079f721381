import type pg from 'pg';
import type { Ledger } from './connect-ledger.ts';

/**
 * Runs `work` on a separate connection without timeouts. An abort ends the connection and so discards what was not
 * committed; then throws the reason of the abort. Otherwise throws the database's errors.
 */
export async function onPatientConnection<T>(
  ledger: Ledger,
  signal: AbortSignal,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = await ledger.patient();
  const stop = () => void client.end().catch(() => undefined);
  signal.addEventListener('abort', stop);
  try {
    signal.throwIfAborted();
    return await work(client);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener('abort', stop);
    await client.end();
  }
}
