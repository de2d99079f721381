import type { PostgresQueueBackend } from 'bullmq';
import type { QueueNews } from './queue-news.ts';
import { createOutlook, type Outlook } from './queue-outlook.ts';

type Row = Record<string, unknown>;
type Rows = { rows: Row[] };
/** BullMQ's function that runs a statement of the backend by its name, with parameters. */
type Run = (command: string, params: unknown[]) => Promise<Rows>;

/** Selects the outlook, without the job that this statement claims. `now`: Unix ms by the worker's clock. */
const outlookWithout = (id: string, now: string) => `
  (not exists (select from meta m where m.queue = $1 and m.field = 'paused' and m.value = '1')
   and (exists (select from job j
                 where j.queue = $1 and j.state = 'waiting' and j.id is distinct from ${id})
     or exists (select from job j
                 where j.queue = $1 and j.state = 'delayed' and j.process_at_ms <= ${now}
                   and j.id is distinct from ${id}))) as is_waiting,
  next_delay($1) as next_due_at`;

/** Claims a job, if there is one, by BullMQ's function, and reads the outlook. */
const claimBy = (call: string, limiterMax: string, now: string) => `
  select c.*, rate_limit_effective($1, ${limiterMax}, ${now}) as rate_limit_ttl, ${outlookWithout('c.id', now)}
    from (values (1)) as one left join lateral ${call} as c on true`;

const claims = new Map([
  [
    'move_to_active',
    claimBy('move_to_active($1, $2, $3, $4, $5, $6, $7)', '$6::integer', '$4::bigint'),
  ],
  [
    'move_to_completed_fetch',
    claimBy(
      'move_to_completed_fetch($1, $2, $3, $4::jsonb, $5, $6, $7, $8, $9, $10, $11, $12, $13)',
      '$12::integer',
      '$10::bigint',
    ),
  ],
]);

const look = `select ${outlookWithout('null', '$2::bigint')}`;

const scheduleNext = `
  select update_job_scheduler_next_millis($1, $2, $3, $4, $5, $6, $7) as job_id, next_delay($1) as next_due_at`;

/** Queries of the worker that the outlook answers. */
const answers = new Map<string, (outlook: Outlook) => Row>([
  ['has_waiting_job', ({ isWaiting }) => ({ present: isWaiting })],
  ['next_delay', ({ nextDueAt }) => ({ next_delay: nextDueAt })],
  ['next_signal', ({ nextDueAt }) => ({ rate_limit_ttl: 0, next_delay: nextDueAt })],
]);

/**
 * Saves a worker the statements that have no effect. BullMQ runs twelve for each run of a schedule, of which three are
 * needed: they claim the run, schedule the next one, and complete it. Each of these also reads the outlook, which
 * answers the worker's other queries. The outlook is valid until another session notifies the queue, as each change
 * does that gives a worker something to do, or until this worker runs any other statement.
 *
 * `news`: the notifications of the backend's connection. No upstream thread is known. Not needed once
 * test/queue/spare-statements.test.ts passes without it.
 */
export function spareStatements(
  backend: PostgresQueueBackend,
  queueName: string,
  news: QueueNews,
): PostgresQueueBackend {
  const run = (Reflect.get(backend, 'run') as Run).bind(backend);
  const query = (Reflect.get(backend, 'query') as Run).bind(backend);
  const outlook = createOutlook(() => Reflect.get(backend, 'listening') === true);
  news.onOthers = outlook.forget;
  /** Ends the worker's wait, because notifications of this worker do not. */
  const wake = () => (Reflect.get(backend, 'cancelWait') as (() => void) | undefined)?.();
  let looking: Promise<unknown> | null = null;

  async function claim(statement: string, params: unknown[]): Promise<Rows> {
    const { rows } = await outlook.reading(() => query(statement, params));
    const [row] = rows;
    if (typeof row?.['id'] === 'string') return { rows };
    // Nothing was claimed although a job waits: it is locked, or a limit applies.
    if (row?.['is_waiting'] === true || Number(row?.['rate_limit_ttl']) > 0) outlook.forget();
    return { rows: [] };
  }

  async function answer(command: string, params: unknown[], from: (outlook: Outlook) => Row) {
    if (!outlook.current()) {
      looking ??= outlook
        .reading(() => query(look, [queueName, Date.now()]))
        .finally(() => {
          looking = null;
        });
      await looking;
    }
    const current = outlook.current();
    return current ? { rows: [from(current)] } : await run(command, params);
  }

  async function change(work: () => Promise<Rows>): Promise<Rows> {
    try {
      return await work();
    } finally {
      outlook.forget();
      wake();
    }
  }

  async function schedule(params: unknown[]): Promise<Rows> {
    const scheduled = await query(scheduleNext, params);
    outlook.expect(scheduled.rows[0]);
    wake();
    return scheduled;
  }

  const spare: Run = async (command, params) => {
    const from = answers.get(command);
    if (from) return await answer(command, params, from);
    if (command === 'move_to_active' && outlook.isNothingDue(Number(params[3])))
      return { rows: [] };
    const statement = claims.get(command);
    const work = statement
      ? claim(statement, params)
      : command === 'update_job_scheduler'
        ? schedule(params)
        : change(() => run(command, params));
    return await work.catch((error) => {
      outlook.forget();
      throw error;
    });
  };
  return Object.defineProperty(backend, 'run', { value: spare });
}
