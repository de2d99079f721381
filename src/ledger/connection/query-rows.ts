import { type AnyColumn, Column, type GetColumnData, is, type SQL, sql } from 'drizzle-orm';
import type { LedgerDb } from './connect-ledger.ts';

/** Checks a value of a result and converts it. Throws for a value of another type. */
type Decoder<T> = (value: unknown) => T;
/** A part of a statement that names columns of its result. */
type Output<D> = SQL & { decoders: D };
type Merged<U> = (U extends unknown ? (one: U) => void : never) extends (all: infer All) => void
  ? All
  : never;
type RowOf<D> = { [Name in keyof D]: D[Name] extends Decoder<infer T> ? T : never };
/** A row of the columns that `pick` or `out` named. */
export type RowNamedBy<Part> = RowOf<Merged<Part extends Output<infer D> ? D : never>>;

/** A column of the schema, or an expression with its decoder. */
type Selected = AnyColumn | readonly [SQL, Decoder<unknown>];
type DecodersOf<S> = {
  [Name in keyof S]: S[Name] extends AnyColumn
    ? Decoder<GetColumnData<S[Name]>>
    : S[Name] extends readonly [SQL, Decoder<infer T>]
      ? Decoder<T>
      : never;
};

/** A statement with the decoders of its result. */
export type Statement<Row> = { text: SQL; decode(row: Record<string, unknown>): Row };

/**
 * Builds a statement, as `sql`. The parts made by `pick` and `out` give the names and types of its rows, so that a
 * column that the schema does not have does not compile.
 */
export function statement<Parts extends unknown[]>(
  strings: TemplateStringsArray,
  ...parts: Parts
): Statement<RowNamedBy<Parts[number]>> {
  const decoders = parts.flatMap((part) => (isOutput(part) ? Object.entries(part.decoders) : []));
  return {
    text: sql(strings, ...parts),
    decode: (row) => decodeAll(decoders, row) as RowNamedBy<Parts[number]>,
  };
}

/** Runs a statement and returns its rows. */
export async function runStatement<Row>(
  db: LedgerDb,
  { text, decode }: Statement<Row>,
): Promise<Row[]> {
  const { rows } = await db.execute(text);
  return rows.map(decode);
}

/** Builds a statement and runs it; see `statement`. */
export function query(db: LedgerDb) {
  return <Parts extends unknown[]>(strings: TemplateStringsArray, ...parts: Parts) =>
    runStatement(db, statement(strings, ...parts));
}

/** Lists these columns for a select or a returning clause, under these names. */
export function pick<S extends Record<string, Selected>>(columns: S): Output<DecodersOf<S>> {
  const list = Object.entries(columns).map(
    ([name, column]) => sql`${expressionOf(column)} as ${sql.identifier(name)}`,
  );
  return Object.assign(sql.join(list, sql`, `), { decoders: decodersOf(columns) });
}

/** Names the expression before it: `count(*) as ${out('rows', number)}`. */
export function out<const Name extends string, T>(
  name: Name,
  decode: Decoder<T>,
): Output<Record<Name, Decoder<T>>> {
  const decoders = { [name]: decode } as Record<Name, Decoder<T>>;
  return Object.assign(sql`${sql.identifier(name)}`, { decoders });
}

/** Builds a JSON object of these columns, and its decoder. */
export function object<S extends Record<string, Selected>>(
  columns: S,
): readonly [SQL, Decoder<RowOf<DecodersOf<S>>>] {
  const fields = Object.entries(columns).map(
    ([name, column]) => sql`${sql.raw(`'${name}'`)}, ${expressionOf(column)}`,
  );
  const decoders = Object.entries(decodersOf(columns));
  return [
    sql`json_build_object(${sql.join(fields, sql`, `)})`,
    (value) => decodeAll(decoders, { ...(value as object) }) as RowOf<DecodersOf<S>>,
  ];
}

function isOutput(part: unknown): part is Output<Record<string, Decoder<unknown>>> {
  return typeof part === 'object' && part !== null && 'decoders' in part;
}

function expressionOf(column: Selected): AnyColumn | SQL {
  return is(column, Column) ? column : column[0];
}

function decodersOf<S extends Record<string, Selected>>(columns: S): DecodersOf<S> {
  const decoders = Object.entries(columns).map(([name, column]) => [
    name,
    is(column, Column) ? decoderOf(column) : column[1],
  ]);
  return Object.fromEntries(decoders) as DecodersOf<S>;
}

function decoderOf(column: AnyColumn): Decoder<unknown> {
  const decode: Decoder<unknown> = (value) =>
    value === null
      ? expected(`a value of ${column.name}`, value)
      : column.mapFromDriverValue(value);
  return column.notNull ? decode : orNull(decode);
}

function decodeAll(decoders: [string, Decoder<unknown>][], row: Record<string, unknown>): unknown {
  return Object.fromEntries(decoders.map(([name, decode]) => [name, decode(row[name])]));
}

function expected(what: string, value: unknown): never {
  throw new Error(`the database returned ${JSON.stringify(value)} instead of ${what}`);
}

export const text = (value: unknown) =>
  typeof value === 'string' ? value : expected('a text', value);
export const truth = (value: unknown) =>
  typeof value === 'boolean' ? value : expected('a truth value', value);

/** Accepts a number of any type; numbers above 2^53 are rounded. */
export function number(value: unknown): number {
  const isNumeric = typeof value === 'number' || (typeof value === 'string' && value.trim() !== '');
  return isNumeric && !Number.isNaN(Number(value)) ? Number(value) : expected('a number', value);
}

export function orNull<T>(decode: Decoder<T>): Decoder<T | null> {
  return (value) => (value === null ? null : decode(value));
}

export function listOf<T>(decode: Decoder<T>): Decoder<T[]> {
  return (value) => (Array.isArray(value) ? value.map(decode) : expected('a list', value));
}

export function oneOf<const T extends string>(...words: T[]): Decoder<T> {
  return (value) => words.find((word) => word === value) ?? expected(words.join(' or '), value);
}
