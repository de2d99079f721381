import { abortableSleep } from './abortable-sleep.ts';
import { LedgerError } from './errors.ts';
import type { Log } from './log.ts';

/** Runs a statement of PostgreSQL on another connection than the one that waits. */
export type Ask = (statement: string, values: unknown[]) => Promise<{ rows: { holder: string }[] }>;

const lookEveryMs = 500;
const lockNotAvailable = '55P03';

/**
 * Completes a statement that selects process ids: names these sessions, without the facts that the role may not see.
 */
export const namingSessions = (pids: string): string => `
select 'process ' || b.pid || coalesce(', role ' || a.usename, '')
         || coalesce(', application ' || nullif(a.application_name, ''), '')
         || coalesce(', in a transaction since ' || to_char(a.xact_start at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
                     ', connected since ' || to_char(a.backend_start at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
                     '') as holder
  from (${pids}) as b (pid)
  left join pg_stat_activity a on a.pid = b.pid
 order by b.pid`;

/** Sessions that block the session `$1`. */
const holders = namingSessions('select distinct unnest(pg_blocking_pids($1))');

/**
 * Runs `work`, which uses the session of the server process `pid`. Logs the sessions that block this session. Throws
 * LedgerError `database-unreachable` with the last of them if a lock was not free in time.
 */
export async function namingHolders<T>(
  ask: Ask,
  pid: number,
  log: Log,
  work: () => Promise<T>,
): Promise<T> {
  const ended = new AbortController();
  const seen: { last: string | null } = { last: null };
  const watching = watch(ask, pid, log, seen, ended.signal);
  try {
    return await work();
  } catch (error) {
    if (seen.last === null || !isLockTimeout(error)) throw error;
    throw heldError(error, seen.last);
  } finally {
    ended.abort();
    await watching;
  }
}

/** Also finds the code inside a wrapper, such as Drizzle's. */
function isLockTimeout(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if ((cause as { code?: unknown }).code === lockNotAvailable) return true;
  }
  return false;
}

function heldError(cause: unknown, holder: string): LedgerError {
  return new LedgerError(
    'database-unreachable',
    `a lock was not released in time; held by ${holder}`,
    {
      cause,
      cure: 'end that session with `select pg_terminate_backend(PROCESS)`, then run the command again',
    },
  );
}

/** Polls for blocking sessions until the signal aborts. Never rejects: a failed query counts as an empty answer. */
async function watch(
  ask: Ask,
  pid: number,
  log: Log,
  seen: { last: string | null },
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const found = await ask(holders, [pid])
      .then(({ rows }) => rows.map(({ holder }) => holder).join('; '))
      .catch(() => '');
    if (found !== '' && found !== seen.last) {
      seen.last = found;
      log.warn({ holder: found }, 'waiting for a lock that another session holds');
    }
    await abortableSleep(lookEveryMs, signal).catch(() => undefined);
  }
}
