import { sql } from 'drizzle-orm';
import { toError } from '../../kernel/errors.ts';
import type { Log } from '../../kernel/log.ts';
import { createWokenWorker } from '../../kernel/woken-worker.ts';
import type { Ledger, LedgerDb } from '../connection/connect-ledger.ts';
import { arrayParam } from '../connection/unnest-rows.ts';
import type { Problem } from '../reports/ledger-status.ts';

const everyMs = 30_000;

/**
 * Stores the problems that `findOthers` finds for `ledger.problems`, because the database cannot see them. Puts the
 * beginning and end of every problem on the change feed. Runs until closed.
 */
export function watchProblems(
  { db }: Pick<Ledger, 'db'>,
  log: Log,
  findOthers: () => Promise<Problem[]> = async () => [],
): { wake(): void; close(): Promise<void> } {
  const worker = createWokenWorker(
    async () => {
      const others = await findOthers();
      if (others.length > 0) await noteOthers(db, others);
      await db.execute(sql`select engine.note_problems()`);
    },
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

/** A problem that was not seen for as long as the view shows it counts as a new one. */
async function noteOthers(db: LedgerDb, problems: Problem[]): Promise<void> {
  const rows = [...new Map(problems.map((problem) => [problem.name, problem])).values()];
  await db.execute(sql`
    insert into engine.queue_problems as q (name, severity, since, seen_at, what, cure)
    select i.name, i.severity, now(), now(), i.what, i.cure
      from unnest(
        ${arrayParam(rows, ({ name }) => name)}::text[], ${arrayParam(rows, ({ severity }) => severity)}::text[],
        ${arrayParam(rows, ({ what }) => what)}::text[], ${arrayParam(rows, ({ cure }) => cure)}::text[]
      ) as i (name, severity, what, cure)
     order by i.name
    on conflict (name) do update
       set severity = excluded.severity, what = excluded.what, cure = excluded.cure, seen_at = now(),
           since = case when q.seen_at > now() - interval '90 seconds' then q.since else now() end`);
}
