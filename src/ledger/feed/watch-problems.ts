import { sql } from 'drizzle-orm';
import { toError } from '../../kernel/errors.ts';
import type { Log } from '../../kernel/log.ts';
import { createWokenWorker } from '../../kernel/woken-worker.ts';
import type { Ledger } from '../connection/connect-ledger.ts';

const everyMs = 30_000;

/** Puts on the change feed which problems of `ledger.problems` begin and end, until closed. */
export function watchProblems(
  { db }: Pick<Ledger, 'db'>,
  log: Log,
): { wake(): void; close(): Promise<void> } {
  const worker = createWokenWorker(
    async () => void (await db.execute(sql`select engine.note_problems()`)),
    (error) => log.debug({ error: toError(error) }, 'problems could not be put on the feed'),
  );
  const timer = setInterval(worker.wake, everyMs);
  return {
    wake: worker.wake,
    async close() {
      clearInterval(timer);
      await worker.stop();
    },
  };
}
