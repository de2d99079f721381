import { type SQL, sql } from 'drizzle-orm';
import type { LedgerDb } from '../connection/connect-ledger.ts';
import { array } from '../transactions/transaction-statement.ts';

/** Key of an asset; `contractAddress` is '' for a main-chain coin. */
export type AssetKey = { slip44: number; symbol: string; contractAddress: string };

/** A table with one row per asset; one answer of the service lists all of them. */
export type SnapshotTable<R> = {
  name: 'balances' | 'coins';
  columns: {
    name: string;
    type: 'text' | 'numeric' | 'integer';
    value(record: R): string | number | null;
  }[];
  /** Further CTEs, each beginning with a comma. They read `inserted` and `stored` (columns x and new_x, is_named). */
  history?: SQL;
};

const lostRaceRunsMax = 5;

/**
 * Stores one answer in one statement: inserts new rows and updates rows that differ. An answer that was requested
 * before an already stored one changes nothing, even if that one brought no change. A null never replaces a value. With
 * `isWhole` (the answer lacks no row), rows that it does not name are no longer listed, except `kept`. Equal rows are
 * not locked. The first of several records with one key counts. Call it inside a transaction.
 */
export async function storeSnapshot<R extends AssetKey>(
  db: LedgerDb,
  table: SnapshotTable<R>,
  records: R[],
  observation: number,
  isWhole: boolean,
  kept: AssetKey[] = [],
): Promise<{ inserted: number; updated: number }> {
  const counts = { inserted: 0, updated: 0 };
  if (await isOvertaken(db, table.name, observation)) return counts;
  const statement = snapshotStatement(table, uniqueFirst(records), observation, { isWhole, kept });
  for (let run = 1; run <= lostRaceRunsMax; run += 1) {
    const result = await db.execute<{ inserted: number; updated: number; unknown: number }>(
      statement,
    );
    const row = result.rows[0];
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
    insert into engine.snapshots as s (name, observation) values (${name}, ${observation})
    on conflict (name) do update set observation = excluded.observation
     where s.observation <= excluded.observation
    returning name`);
  return noted.rows.length === 0;
}

/** Returns whether the ledger lists rows that an answer with these keys does not name. */
export async function hasUnnamed(
  db: LedgerDb,
  name: SnapshotTable<AssetKey>['name'],
  keys: AssetKey[],
): Promise<boolean> {
  const found = await db.execute<{ found: boolean }>(sql`
    select exists (
      select from ledger.${sql.identifier(name)} t
       where t.is_listed and (t.slip44, t.symbol, t.contract_address) not in (${keysOf(keys)})) as found`);
  return found.rows[0]?.found ?? false;
}

function keysOf(keys: AssetKey[]): SQL {
  return sql`select * from unnest(
    ${array(keys, (key) => key.slip44)}::integer[], ${array(keys, (key) => key.symbol)}::text[],
    ${array(keys, (key) => key.contractAddress)}::text[])`;
}

function uniqueFirst<R extends AssetKey>(records: R[]): R[] {
  const first = new Map<string, R>();
  for (const record of records) {
    const key = JSON.stringify([record.slip44, record.symbol, record.contractAddress]);
    if (!first.has(key)) first.set(key, record);
  }
  return [...first.values()];
}

function snapshotStatement<R extends AssetKey>(
  { name, columns, history }: SnapshotTable<R>,
  batch: R[],
  observation: number,
  { isWhole, kept }: { isWhole: boolean; kept: AssetKey[] },
): SQL {
  const table = sql`ledger.${sql.identifier(name)}`;
  const each = (part: (column: SQL, renewed: SQL) => SQL) =>
    sql.join(
      columns.map((column) =>
        part(sql`${sql.identifier(column.name)}`, sql`${sql.identifier(`new_${column.name}`)}`),
      ),
      sql`, `,
    );
  const values = columns.map(({ value, type }) => sql`${array(batch, value)}::${sql.raw(type)}[]`);
  const names = each((column) => column);
  return sql`
with incoming as (
  select *
    from unnest(
      ${array(batch, (record) => record.slip44)}::integer[], ${array(batch, (record) => record.symbol)}::text[],
      ${array(batch, (record) => record.contractAddress)}::text[], ${sql.join(values, sql`, `)}
    ) as i (slip44, symbol, contract_address, ${names})
),
stored as (
  select t.*, i.slip44 is not null as is_named, ${each((c, renewed) => sql`coalesce(i.${c}, t.${c}) as ${renewed}`)}
    from ${table} t left join incoming i
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
  update ${table} t
     set ${each((c, renewed) => sql`${c} = s.${renewed}`)},
         is_listed = s.is_named, observed_at = now(), changed_at = now(), observation = ${observation}
    from stored s
   where t.slip44 = s.slip44 and t.symbol = s.symbol and t.contract_address = s.contract_address
  returning t.slip44
),
inserted as (
  insert into ${table} (slip44, symbol, contract_address, ${names}, observed_at, changed_at, observation)
  select i.*, now(), now(), ${observation}
    from incoming i
   where not exists (select from ${table} t
                      where t.slip44 = i.slip44 and t.symbol = i.symbol and t.contract_address = i.contract_address)
   order by i.slip44, i.symbol, i.contract_address
  on conflict do nothing
  returning *
)${history ?? sql``}
select (select count(*)::int from inserted) as inserted,
       (select count(*)::int from updated) as updated,
       (select count(*)::int from incoming i
         where not exists (select from ${table} t
                            where t.slip44 = i.slip44 and t.symbol = i.symbol
                              and t.contract_address = i.contract_address)) as unknown`;
}
