import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres';
import type pg from 'pg';
import { abortableSleep } from '../../kernel/abortable-sleep.ts';
import type { Log } from '../../kernel/log.ts';
import { isConflict, isConnectionLost } from './postgres-codes.ts';

const runsMax = 8;

/** Reports that other transactions stored some of the same new rows first. The retry sees and compares them. */
export class StoredMeanwhile extends Error {
  constructor() {
    super('other transactions stored the same new rows first');
  }
}

/** Opens or lends a connection. `broken` returns the reason why it can no longer be used. */
export type Lend = () => Promise<pg.Client & { release(broken?: Error): void }>;

/** Returns a function that opens a new connection each time and closes it when it is released. */
export function lendOnce(open: () => Promise<pg.Client>): Lend {
  return async () => {
    const client = await open();
    return Object.assign(client, { release: () => void client.end().catch(() => undefined) });
  };
}

/**
 * Returns a function that lends connections until the signal, if any, aborts. The abort closes the connections that are
 * lent.
 */
export function lendUntil(signal: AbortSignal | undefined, lend: Lend): Lend {
  if (!signal) return lend;
  return async () => {
    signal.throwIfAborted();
    const client = await lend();
    const { release } = client;
    const cut = () => client.connection.stream.destroy();
    signal.addEventListener('abort', cut, { once: true });
    if (signal.aborted) cut();
    return Object.assign(client, {
      release(broken?: Error) {
        signal.removeEventListener('abort', cut);
        release(broken);
      },
    });
  };
}

/** Runs `work` as `Ledger.transaction` says. */
export async function runTransaction<T>(
  lend: Lend,
  work: (db: NodePgDatabase) => Promise<T>,
  settings: string,
  log: Log,
): Promise<T> {
  return await rerunLost('transaction', () => runOnce(lend, work, settings), howLost, log);
}

/** Runs one statement in a transaction of its own, and again if it loses a conflict: then it has stored nothing. */
export async function rerunStatement<T>(run: () => Promise<T>, log: Log): Promise<T> {
  return await rerunLost('statement', run, howConflicting, log);
}

/** Runs `run` again as long as `reasonOf` returns a reason why a retry helps. */
async function rerunLost<T>(
  name: string,
  run: () => Promise<T>,
  reasonOf: (error: unknown) => string | null,
  log: Log,
): Promise<T> {
  for (let runs = 1; ; runs += 1) {
    try {
      return await run();
    } catch (error) {
      const reason = reasonOf(error);
      if (reason === null || runs === runsMax) throw error;
      log.info({ run: runs }, `${name} failed: ${reason}; running it again`);
      // Waits a random time, because two transactions that retry at the same moment conflict again.
      await abortableSleep(Math.random() * 100 * runs);
    }
  }
}

/** Runs `work` in one transaction. */
async function runOnce<T>(
  lend: Lend,
  work: (db: NodePgDatabase) => Promise<T>,
  settings: string,
): Promise<T> {
  const client = await lend();
  let broken: Error | undefined;
  try {
    await client.query(`BEGIN; ${settings}`);
    const result = await work(drizzle(client));
    await client.query('COMMIT');
    return result;
  } catch (error) {
    // Keeps the first failure as the one to report. A connection that cannot roll back is closed.
    await client.query('ROLLBACK').catch((failure: Error) => {
      broken = failure;
    });
    throw error;
  } finally {
    client.release(broken);
  }
}

/** Returns the reason for a retry; null if a retry would not help. */
function howLost(error: unknown): string | null {
  if (error instanceof StoredMeanwhile) return 'another one stored the same rows first';
  return howConflicting(error) ?? (isConnectionLost(error) ? 'connection lost' : null);
}

function howConflicting(error: unknown): string | null {
  return isConflict(error) ? 'conflict with another one' : null;
}
