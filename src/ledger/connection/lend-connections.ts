import type pg from 'pg';
import type { Log } from '../../kernel/log.ts';
import { rerunStatement } from './run-transaction.ts';

/** Takes no lock, so only a dead connection leaves it without an answer. */
const choosing = { text: "select set_config('ledger.wallet', $1, false)", query_timeout: 5_000 };

/**
 * Returns a function that gives each wallet a pool of its own over the connections of one pool. A connection's session
 * carries the wallet that used it last; `first` is the wallet of a new connection's session. A statement that loses a
 * conflict runs again.
 */
export function createLending(
  shared: pg.Pool,
  first: string,
  log: Log,
): (wallet: string) => pg.Pool {
  const wallets = new WeakMap<pg.PoolClient, string>();

  async function lend(wallet: string): Promise<pg.PoolClient> {
    const client = await shared.connect();
    if ((wallets.get(client) ?? first) === wallet) return client;
    try {
      await client.query({ ...choosing, values: [wallet] });
    } catch (error) {
      client.release(true);
      throw error;
    }
    wallets.set(client, wallet);
    return client;
  }

  return (wallet) => {
    const connect = () => lend(wallet);
    async function queryOnce(...statement: Parameters<pg.PoolClient['query']>): Promise<unknown> {
      const client = await connect();
      try {
        const result: unknown = await client.query(...statement);
        client.release();
        return result;
      } catch (error) {
        // As the pool does it itself: the failure may be the connection's.
        client.release(true);
        throw error;
      }
    }
    const query = (...statement: Parameters<pg.PoolClient['query']>) =>
      rerunStatement(() => queryOnce(...statement), log);
    return Object.create(shared, { connect: { value: connect }, query: { value: query } });
  };
}
