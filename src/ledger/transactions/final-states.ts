import { type SQL, sql } from 'drizzle-orm';
import { abortableSleep } from '../../kernel/abortable-sleep.ts';
import type { Ledger, LedgerDb } from '../connection/connect-ledger.ts';
import { listOf, number, orNull, out, query, text, truth } from '../connection/query-rows.ts';
import { dueAtOnce, turn } from './detail-checks.ts';
import { findingByKey } from './transaction-statement.ts';

/** States in lower case, after which a row is final, and those of them that moved money. */
export type ConfiguredStates = { final: ReadonlySet<string>; success: ReadonlySet<string> };

/** Numbers of rows that a classification has read, and of those that it has changed. */
export type Classified = { read: number; changed: number };

/** Rows that one transaction reads; a batch of this size takes a few seconds at most and fits any statement timeout. */
const batchMax = 10_000;

/** Exceeds the timeouts of the program's own transactions. */
const writersMaxMs = 90_000;
const writersAskedMs = 50;

/**
 * Classifies the stored rows by the configured final states if they differ from the last ones, and finishes a
 * classification that was interrupted. A row that is no longer final is due at once. A row that became final is due
 * only if its detail is missing or older than its last change. Each batch is a transaction of its own, after which
 * `onBatch` gets the numbers of rows so far. Returns the number of changed rows.
 */
export async function reclassifyByStates(
  ledger: Ledger,
  states: ConfiguredStates,
  onBatch?: (sum: Classified) => void,
): Promise<number> {
  await beginClassification(ledger, states);
  await outlastWriters(ledger);
  const sum = { read: 0, changed: 0 };
  for (;;) {
    const batch = await ledger.transaction(classifyBatch, findingByKey);
    if (batch === null) return sum.changed;
    sum.read += batch.read;
    sum.changed += batch.changed;
    onBatch?.({ ...sum });
  }
}

/** Compares the states by which the rows are classified, or being classified, with these; `none`: a new ledger. */
export async function compareStates(
  db: LedgerDb,
  states: ConfiguredStates,
): Promise<'none' | 'same' | 'others'> {
  const wanted = wantedStates(states);
  const [compared] = await query(db)`
    select exists (select from own.final_states) as ${out('known', truth)},
           not exists ((${wanted}) except select state, is_success from own.final_states)
             and not exists (select state, is_success from own.final_states except (${wanted})) as ${out('same', truth)}`;
  if (!compared?.known) return 'none';
  return compared.same ? 'same' : 'others';
}

function wantedStates({ final, success }: ConfiguredStates): SQL {
  return sql`select state, state = any(${sql.param([...success])}::text[]) as is_success
    from unnest(${sql.param([...final])}::text[]) as s (state)`;
}

// Reads the state of the row itself, so that the condition also holds for a row that changes before it is locked.
const isFinal = sql`coalesce(lower(btrim(t.state)) in (select f.state from own.final_states f), false)`;
const isSuccess = sql`coalesce(lower(btrim(t.state)) in (select f.state from own.final_states f where f.is_success), false)`;

/** Stores other states together with the task to classify all rows from the first one. */
async function beginClassification(ledger: Ledger, states: ConfiguredStates): Promise<void> {
  if ((await compareStates(ledger.db, states)) === 'same') return;
  await ledger.transaction(async (db) => {
    await db.execute(sql`lock table ledger.final_states in share row exclusive mode`);
    // Checks again: another process that started at the same time may have made the change meanwhile.
    if ((await compareStates(db, states)) === 'same') return;
    const turned = sql`
      select state from ((select state, true as is_success from own.final_states where is_success)
        union all (select state, true from (${wantedStates(states)}) as w where is_success)) as s
       group by state having count(*) = 1`;
    await db.execute(sql`
      insert into own.classification as c (id, after_order_no, turned_states) values (1, '', array(${turned}))
      on conflict (wallet, id) do update
         set after_order_no = '', turned_states = array(
           select unnest(c.turned_states) union select unnest(excluded.turned_states))`);
    await db.execute(
      sql`update own.final_state_periods set valid_to = now() where valid_to is null`,
    );
    await db.execute(sql`
      insert into own.final_state_periods (state, valid_from)
      select w.state, case when exists (select from own.final_state_periods) then now() else 'epoch' end
        from (${wantedStates(states)}) as w`);
    await db.execute(sql`delete from own.final_states`);
    await db.execute(sql`insert into own.final_states (state, is_success) ${wantedStates(states)}`);
  });
}

/**
 * Waits, before a classification, for the transactions that are writing rows. They may classify their rows by the
 * previous states, and no batch sees these rows before they are committed. Takes no lock on the table: that would also
 * wait for a VACUUM, and block all writers meanwhile.
 */
async function outlastWriters({ db }: Ledger): Promise<void> {
  const deadline = performance.now() + writersMaxMs;
  const first = new Set(await readWriters(db));
  for (let writers = [...first]; writers.some((each) => first.has(each)); ) {
    if (performance.now() >= deadline) return;
    await abortableSleep(writersAskedMs);
    writers = await readWriters(db);
  }
}

/** Returns the transactions that have written rows, or are about to; none while no classification is under way. */
async function readWriters(db: LedgerDb): Promise<string[]> {
  const writers = await query(db)`
    select l.virtualtransaction as ${out('writer', text)} from pg_locks l
     where exists (select from own.classification) and l.granted and l.mode = 'RowExclusiveLock'
       and l.relation = 'ledger.transactions'::regclass and l.pid <> pg_backend_pid()
       and l.database = (select d.oid from pg_database d where d.datname = current_database())`;
  return writers.map(({ writer }) => writer);
}

/** Classifies the next rows in key order, as every batch locks them. Returns null when no row is left. */
async function classifyBatch(db: LedgerDb): Promise<Classified | null> {
  const [pending] = await query(db)`
    select after_order_no as ${out('after', text)}, turned_states as ${out('turned', listOf(text))}
      from own.classification where id = 1 for update`;
  if (pending === undefined) return null;
  const { after, turned } = pending;
  const [batch] = await query(db)`
    with page as materialized (
      select order_no from own.transactions where order_no > ${after} order by order_no limit ${batchMax}
    ),
    locked as materialized (
      select t.order_no, t.is_final as was_final from own.transactions t
       where t.order_no > ${after} and t.order_no <= (select max(order_no) from page)
         and (t.is_final, t.is_success) <> (${isFinal}, ${isSuccess})
       order by t.order_no for update of t
    ),
    changed as (
      update own.transactions t
         set is_final = ${isFinal}, is_success = ${isSuccess}
        from locked l where t.order_no = l.order_no
      returning t.order_no, t.is_final, l.was_final,
                t.is_final and coalesce(t.detail_synced_at >= t.changed_at, false) as is_complete
    ),
    done as (
      delete from own.detail_checks c using changed x where c.order_no = x.order_no and x.is_complete
    ),
    ${dueAtOnce('due', sql`select order_no, is_final, ${turn.open}::smallint from changed where is_final <> was_final and not is_complete`)}
    select (select max(order_no) from page) as ${out('last', orNull(text))},
           (select count(*) from page) as ${out('read', number)},
           (select count(*) from changed) as ${out('changed', number)}`;
  const { last = null, read = 0, changed = 0 } = batch ?? {};
  if (last !== null && turned.length > 0) await recountTurned(db, turned, { after, last });
  await db.execute(
    last === null
      ? sql`delete from own.classification where id = 1`
      : sql`update own.classification set after_order_no = ${last} where id = 1`,
  );
  return { read, changed };
}

/**
 * Recomputes the use of addresses whose deposits begin or cease to count by the new states. A trigger does it for a
 * deposit whose state changes meanwhile.
 */
async function recountTurned(
  db: LedgerDb,
  turned: string[],
  { after, last }: { after: string; last: string },
): Promise<void> {
  await db.execute(sql`
    select engine.recount_use(s.keys)
      from (select array_agg(distinct a.address_key) as keys
              from own.transactions t
              join own.addresses a on a.address_key = ledger.address_key(t.to_address)
             where t.order_no > ${after} and t.order_no <= ${last} and t.stream = 'deposit'
               and lower(btrim(t.state)) = any(${sql.param(turned)}::text[])
               and case when t.is_success
                        then a.first_deposit_order_no is null
                          or (coalesce(t.occurred_at, 'infinity'), t.order_no)
                             < (coalesce(a.first_deposit_at, 'infinity'), a.first_deposit_order_no)
                        else a.first_deposit_order_no = t.order_no end) as s
     where s.keys is not null`);
}
