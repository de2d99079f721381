import type pg from 'pg';

export type CatalogueColumn = {
  name: string;
  type: string;
  isNullable: boolean;
  /** SQL text; null for a column that has none. */
  default: string | null;
  comment: string | null;
};

/** `columns`: names, or SQL text where an expression is indexed. `condition`: SQL text of a partial index. */
export type CatalogueIndex = {
  name: string;
  isPrimary: boolean;
  isUnique: boolean;
  method: string;
  columns: string[];
  condition: string | null;
};

export type CatalogueRelation = {
  name: string;
  comment: string | null;
  columns: CatalogueColumn[];
  indexes: CatalogueIndex[];
  /** SQL text of the conditions that every row fulfils. */
  checks: string[];
};

/** `isPublic`: whether every role that sees the schema may call it. */
export type CatalogueFunction = {
  name: string;
  arguments: string;
  result: string;
  isPublic: boolean;
  comment: string | null;
};

/** Catalogue of the schema `ledger`, from PostgreSQL; all lists but columns are sorted by name. */
export type Catalogue = {
  tables: CatalogueRelation[];
  views: CatalogueRelation[];
  functions: CatalogueFunction[];
};

const relations = `
select c.relkind in ('r', 'p') as is_table,
       json_build_object(
         'name', c.relname,
         'comment', obj_description(c.oid, 'pg_class'),
         'columns', (select json_agg(json_build_object(
                              'name', a.attname,
                              'type', format_type(a.atttypid, a.atttypmod),
                              'isNullable', not a.attnotnull,
                              'default', case when a.attidentity <> '' then 'identity'
                                              else pg_get_expr(d.adbin, d.adrelid) end,
                              'comment', col_description(c.oid, a.attnum)) order by a.attnum)
                       from pg_attribute a
                       left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
                      where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped),
         'indexes', (select coalesce(json_agg(json_build_object(
                              'name', i.relname,
                              'isPrimary', x.indisprimary,
                              'isUnique', x.indisunique,
                              'method', m.amname,
                              'columns', (select json_agg(pg_get_indexdef(x.indexrelid, n, true) order by n)
                                            from generate_series(1, x.indnkeyatts) as n),
                              'condition', pg_get_expr(x.indpred, x.indrelid, true))
                              order by not x.indisprimary, i.relname collate "C"), '[]')
                       from pg_index x
                       join pg_class i on i.oid = x.indexrelid
                       join pg_am m on m.oid = i.relam
                      where x.indrelid = c.oid),
         'checks', (select coalesce(json_agg(pg_get_expr(k.conbin, k.conrelid, true) order by k.conname collate "C"), '[]')
                      from pg_constraint k where k.conrelid = c.oid and k.contype = 'c')) as relation
  from pg_class c
 where c.relnamespace = 'ledger'::regnamespace and c.relkind in ('r', 'p', 'v', 'm')
 order by c.relname collate "C"`;

const functions = `
select json_build_object(
         'name', p.proname,
         'arguments', pg_get_function_arguments(p.oid),
         'result', pg_get_function_result(p.oid),
         'isPublic', has_function_privilege('public', p.oid, 'execute'),
         'comment', obj_description(p.oid, 'pg_proc')) as function
  from pg_proc p
 where p.pronamespace = 'ledger'::regnamespace
 order by p.proname collate "C", pg_get_function_arguments(p.oid) collate "C"`;

/** Reads the schema `ledger` as it is in the pool’s database. */
export async function readCatalogue(pool: pg.Pool): Promise<Catalogue> {
  const found = await pool.query<{ is_table: boolean; relation: CatalogueRelation }>(relations);
  const called = await pool.query<{ function: CatalogueFunction }>(functions);
  const ofKind = (isTable: boolean) =>
    found.rows.filter((row) => row.is_table === isTable).map((row) => row.relation);
  return {
    tables: ofKind(true),
    views: ofKind(false),
    functions: called.rows.map((row) => row.function),
  };
}
