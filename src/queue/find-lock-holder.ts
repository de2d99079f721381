import type { PgPool } from 'bullmq';
import { namingSessions } from '../kernel/name-lock-holders.ts';
import { queueAppName } from './postgres-queue-options.ts';

/**
 * Selects the sessions that keep the queue (`$1`) waiting. BullMQ shares the lock `bullmq:finalization` among its
 * writers, and only `obliterate` takes it exclusively. Other locks count only if a session of the queue waits for them
 * now and no other session of the queue holds them.
 */
const holders = namingSessions(`
select l.pid
  from pg_locks l
 where l.locktype = 'advisory' and l.granted and l.mode = 'ExclusiveLock' and l.objsubid = 2
   and l.database = (select oid from pg_database where datname = current_database())
   and l.classid = hashtext('bullmq:finalization')::oid and l.objid = hashtext($1)::oid
union
select blocking.pid
  from pg_locks l
  join pg_stat_activity w on w.pid = l.pid and starts_with(w.application_name, '${queueAppName}')
  cross join unnest(pg_blocking_pids(l.pid)) as blocking (pid)
 where not l.granted and l.database = (select oid from pg_database where datname = current_database())
   and not exists (select from pg_stat_activity o
                    where o.pid = blocking.pid and o.usesysid = w.usesysid and starts_with(o.application_name, '${queueAppName}'))`);

/** Names the sessions of others that hold locks which the queue needs; null if there are none. */
export async function findLockHolder(pool: PgPool, queueName: string): Promise<string | null> {
  const { rows } = await pool.query<{ holder: string }>(holders, [queueName]);
  return rows.length === 0 ? null : rows.map(({ holder }) => holder).join('; ');
}
