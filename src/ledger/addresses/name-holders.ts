import { abortableSleep } from '../../kernel/abortable-sleep.ts';
import { LedgerError } from '../../kernel/errors.ts';
import type { Log } from '../../kernel/log.ts';
import type { Ledger } from '../connection/connect-ledger.ts';
import { isLockTimeout } from '../connection/postgres-codes.ts';

const lookEveryMs = 500;

/** Sessions that block the session `$1`, without the facts that the role may not see. */
const holders = `
select 'process ' || b.pid || coalesce(', role ' || a.usename, '')
         || coalesce(', application ' || nullif(a.application_name, ''), '')
         || coalesce(', in a transaction since ' || to_char(a.xact_start at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
                     ', connected since ' || to_char(a.backend_start at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
                     '') as holder
  from (select distinct unnest(pg_blocking_pids($1))) as b (pid)
  left join pg_stat_activity a on a.pid = b.pid
 order by b.pid`;

/**
 * Runs `work`, which uses the session of the server process `pid`. Logs the sessions that block this session. Throws
 * LedgerError `database-unreachable` with the last of them if a lock was not free in time.
 */
export async function namingHolders<T>(
  ledger: Ledger,
  pid: number,
  log: Log,
  work: () => Promise<T>,
): Promise<T> {
  const ended = new AbortController();
  const seen: { last: string | null } = { last: null };
  const watching = watch(ledger, pid, log, seen, ended.signal);
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

function heldError(cause: unknown, holder: string): LedgerError {
  return new LedgerError('database-unreachable', `a lock was not free in time: ${holder}`, {
    cause,
    cure: 'end that session (`select pg_terminate_backend(PROCESS)` does it), then run the command again',
  });
}

/** Polls for blocking sessions until the signal aborts. Never rejects: a failed query counts as an empty answer. */
async function watch(
  { pool }: Ledger,
  pid: number,
  log: Log,
  seen: { last: string | null },
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const found = await pool
      .query<{ holder: string }>(holders, [pid])
      .then(({ rows }) => rows.map(({ holder }) => holder).join('; '))
      .catch(() => '');
    if (found !== '' && found !== seen.last) {
      seen.last = found;
      log.warn({ holder: found }, 'waiting for a lock that another session holds');
    }
    await abortableSleep(lookEveryMs, signal).catch(() => undefined);
  }
}
