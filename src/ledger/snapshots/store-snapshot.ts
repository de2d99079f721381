import { getTableColumns, getTableName, type SQL, sql } from 'drizzle-orm';
import type { AssetKey } from '../../kernel/vocabulary.ts';
import type { LedgerDb } from '../connection/connect-ledger.ts';
import {
  number,
  out,
  query,
  runStatement,
  type Statement,
  statement,
  truth,
} from '../connection/query-rows.ts';
import { type FieldOf, unnestRows } from '../connection/unnest-rows.ts';
import { type balances, coins } from '../own-tables.ts';

/** Fields of the key in the order of the tables' primary keys. */
export const assetKey = ['slip44', 'symbol', 'contractAddress'] as const;

/** A table with one row per asset; one answer of the service lists all of them. */
export type SnapshotTable<R, T extends typeof balances | typeof coins> = {
  table: T;
  /** Fields of the record besides its key. */
  fields: FieldOf<R, T>[];
  /** Further CTEs, each beginning with a comma. They read `inserted` and `stored` (columns x and new_x, is_named). */
  history?: SQL;
};

/** Numbers of written rows. `isOvertaken`: a later answer is stored already, so this one says nothing any more. */
export type StoredSnapshot = { inserted: number; updated: number; isOvertaken: boolean };

const lostRaceRunsMax = 5;

/**
 * Stores one answer in one statement: inserts new rows and updates rows that differ. An answer that was requested
 * before an already stored one changes nothing, even if that one brought no change. A null never replaces a value. With
 * `isWhole` (the answer lacks no row), rows that it does not name are no longer listed, except `kept`. Equal rows are
 * not locked. The first of several records with one key counts. Changes have the time of the statement, because a
 * transaction may have begun before the one whose answer it follows. Call it inside a transaction.
 */
export async function storeSnapshot<R extends AssetKey, T extends typeof balances | typeof coins>(
  db: LedgerDb,
  snapshot: SnapshotTable<R, T>,
  records: R[],
  observation: number,
  isWhole: boolean,
  kept: AssetKey[] = [],
): Promise<StoredSnapshot> {
  const counts = { inserted: 0, updated: 0, isOvertaken: false };
  if (await isOvertaken(db, getTableName(snapshot.table), observation))
    return { ...counts, isOvertaken: true };
  const store = snapshotStatement(snapshot, uniqueFirst(records), observation, {
    isWhole,
    kept,
  });
  for (let run = 1; run <= lostRaceRunsMax; run += 1) {
    const [row] = await runStatement(db, store);
    if (!row) break;
    counts.inserted += row.inserted;
    counts.updated += row.updated;
    // Runs again if another writer inserted some of the rows meanwhile: they are visible now and get compared.
    if (row.unknown === row.inserted) break;
  }
  return counts;
}

/**
 * Notes the answer's observation, and returns true if a later one is noted already. The row stays locked until the
 * transaction ends, so several processes store their answers one after the other. Records of unknown age (observation
 * 0) are not noted.
 */
async function isOvertaken(db: LedgerDb, name: string, observation: number): Promise<boolean> {
  if (observation === 0) return false;
  const noted = await db.execute(sql`
    insert into own.snapshots as s (name, observation) values (${name}, ${observation})
    on conflict (wallet, name) do update set observation = excluded.observation, empty_since = null
     where s.observation <= excluded.observation
    returning name`);
  return noted.rows.length === 0;
}

/** Names of the snapshot tables. */
export type SnapshotName = 'balances' | 'coins';

/**
 * Rows of each snapshot table that never all vanish at the same moment: every listed coin, and balances that are not 0.
 */
const lastingRows: Record<SnapshotName, SQL> = {
  balances: sql`is_listed and balance <> 0`,
  coins: sql`is_listed`,
};

/**
 * Notes that the service names no row of a snapshot table at all, since now or earlier. Returns the time (ms) since
 * then, and the number of rows that do not all vanish at once. Notes nothing and returns null if there are none.
 * Storing an answer removes the note.
 */
export async function noteEmptySnapshot(
  db: LedgerDb,
  name: SnapshotName,
): Promise<{ emptyForMs: number; held: number } | null> {
  const [noted] = await query(db)`
    update own.snapshots s set empty_since = coalesce(s.empty_since, now())
      from (select count(*) as lasting from own.${sql.identifier(name)} where ${lastingRows[name]}) as held
     where s.name = ${name} and held.lasting > 0
    returning (extract(epoch from now() - s.empty_since) * 1000)::float8 as ${out('emptyForMs', number)},
              held.lasting as ${out('held', number)}`;
  return noted ?? null;
}

/** Returns whether the ledger has stored an answer of each snapshot table. */
export async function areAssetsKnown(db: LedgerDb): Promise<boolean> {
  const [row] = await query(db)`
    select count(*) = 2 as ${out('known', truth)} from own.snapshots where name in ('balances', 'coins')`;
  return row?.known ?? false;
}

/** Returns whether the ledger lists rows that an answer with these keys does not name. */
export async function hasUnnamed(
  db: LedgerDb,
  name: SnapshotName,
  keys: AssetKey[],
): Promise<boolean> {
  const [row] = await query(db)`
    select exists (
      select from own.${sql.identifier(name)} t
       where t.is_listed and (t.slip44, t.symbol, t.contract_address) not in (${keysOf(keys)})) as ${out('found', truth)}`;
  return row?.found ?? false;
}

function keysOf(keys: AssetKey[]): SQL {
  return sql`select * from ${unnestRows(keys, coins, assetKey)}`;
}

function uniqueFirst<R extends AssetKey>(records: R[]): R[] {
  const first = new Map<string, R>();
  for (const record of records) {
    const key = JSON.stringify([record.slip44, record.symbol, record.contractAddress]);
    if (!first.has(key)) first.set(key, record);
  }
  return [...first.values()];
}

function snapshotStatement<R extends AssetKey, T extends typeof balances | typeof coins>(
  { table, fields, history }: SnapshotTable<R, T>,
  batch: R[],
  observation: number,
  { isWhole, kept }: { isWhole: boolean; kept: AssetKey[] },
): Statement<{ inserted: number; updated: number; unknown: number }> {
  const stored = sql`${table}`;
  const known: Record<string, { name: string }> = getTableColumns(table);
  const columns = fields.map((field) => known[field]?.name ?? field);
  const each = (part: (column: SQL, renewed: SQL) => SQL) =>
    sql.join(
      columns.map((name) =>
        part(sql`${sql.identifier(name)}`, sql`${sql.identifier(`new_${name}`)}`),
      ),
      sql`, `,
    );
  const names = each((column) => column);
  return statement`
with incoming as (
  select * from ${unnestRows(batch, table, [...assetKey, ...fields])}
),
stored as (
  select t.*, i.slip44 is not null as is_named, ${each((c, renewed) => sql`coalesce(i.${c}, t.${c}) as ${renewed}`)}
    from ${stored} t left join incoming i
      on i.slip44 = t.slip44 and i.symbol = t.symbol and i.contract_address = t.contract_address
   where t.observation < ${observation}
     and case when i.slip44 is null
                then ${isWhole} and t.is_listed
                  and (t.slip44, t.symbol, t.contract_address) not in (${keysOf(kept)})
              else not t.is_listed
                or (${each((c) => sql`coalesce(i.${c}, t.${c})`)}) is distinct from (${each((c) => sql`t.${c}`)})
         end
   order by t.slip44, t.symbol, t.contract_address
     for update of t
),
updated as (
  update ${stored} t
     set ${each((c, renewed) => sql`${c} = s.${renewed}`)},
         is_listed = s.is_named, observed_at = statement_timestamp(), changed_at = statement_timestamp(), observation = ${observation}
    from stored s
   where t.slip44 = s.slip44 and t.symbol = s.symbol and t.contract_address = s.contract_address
  returning t.slip44
),
inserted as (
  insert into ${stored} (slip44, symbol, contract_address, ${names}, observed_at, changed_at, observation)
  select i.*, statement_timestamp(), statement_timestamp(), ${observation}
    from incoming i
   where not exists (select from ${stored} t
                      where t.slip44 = i.slip44 and t.symbol = i.symbol and t.contract_address = i.contract_address)
   order by i.slip44, i.symbol, i.contract_address
  on conflict do nothing
  returning *
)${history ?? sql``}
select (select count(*) from inserted) as ${out('inserted', number)},
       (select count(*) from updated) as ${out('updated', number)},
       (select count(*) from incoming i
         where not exists (select from ${stored} t
                            where t.slip44 = i.slip44 and t.symbol = i.symbol
                              and t.contract_address = i.contract_address)) as ${out('unknown', number)}`;
}
