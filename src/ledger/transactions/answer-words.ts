import { type SQL, sql } from 'drizzle-orm';
import type { TransactionDetailRecord, TransactionRecord } from '../../kernel/wallet-records.ts';
import { type FieldOf, unnestRows } from '../connection/unnest-rows.ts';
import { transactions } from '../own-tables.ts';

/**
 * Tracks the last value of each field from the list and from the detail. A row holds one value per field. If the last
 * answer of one kind had another value, `list_word` or `detail_word` keeps that value beside the row. So a repeated
 * answer is no change. An empty field is a change only if the same kind of answer once filled it.
 *
 * The SQL fragments below read the stored row as `t` and the answer as `i`, with its column `unreadable`.
 */
type Field = {
  /** Name of the field in the records, whose column holds it. */
  key: FieldKey;
  column: string;
  type: string;
  /** Name of the field in the service's answers (docs/wallet-service-api.md, sections 2.3 and 2.4). */
  name: string;
  /** Kind of answer that alone sets this field. */
  only?: Kind;
};
type Kind = 'list' | 'detail';
type FieldKey = Exclude<keyof TransactionDetailRecord, 'orderNo' | 'extra' | 'unreadable'>;

const answered: Record<FieldKey, Pick<Field, 'only'>> = {
  requestId: {},
  symbol: {},
  txHash: {},
  fromAddress: {},
  toAddress: {},
  amount: {},
  type: { only: 'list' },
  state: {},
  confirmNum: { only: 'detail' },
  fee: { only: 'detail' },
  feeSymbol: { only: 'detail' },
  occurredAt: {},
};

const fields = (Object.keys(answered) as FieldKey[]).map((key): Field => {
  const column = transactions[key];
  const name = key === 'occurredAt' ? 'time' : key;
  return { key, column: column.name, type: column.getSQLType(), name, ...answered[key] };
});

const spokenBy: Record<Kind | 'any', Field[]> = {
  any: fields,
  list: fields.filter(({ only }) => only !== 'detail'),
  detail: fields.filter(({ only }) => only !== 'list'),
};

/** Columns that answers of both kinds fill, with their types. */
export const sharedColumns = fields.filter(({ only }) => only === undefined);

/** Marks a row of an earlier version, for which the source of each value is unknown. */
const unknown = `'"unknown"'::jsonb`;

/** Returns the columns of the fields that answers of the kind have. */
export function columnsOf(kind: Kind | 'any'): string[] {
  return spokenBy[kind].map(({ column }) => column);
}

/** Returns one SQL expression for each field that answers of the kind have, joined by commas. */
export function each(kind: Kind | 'any', part: (column: string) => string): SQL {
  return sql.raw(columnsOf(kind).map(part).join(', '));
}

/**
 * Returns a batch of answers as a relation `i`, with the columns `order_no` and `unreadable`, those of the kind's
 * fields and those of the `further` fields.
 */
export function answersOf<R extends TransactionRecord>(
  kind: Kind | 'any',
  rows: readonly R[],
  ...further: FieldOf<R, typeof transactions>[]
): SQL {
  const keys = spokenBy[kind].map(({ key }) => key).filter((key) => key !== 'occurredAt');
  const given = ['orderNo', ...keys, ...further] as FieldOf<R, typeof transactions>[];
  const unnested = unnestRows(rows, transactions, given, {
    occurred_ms: { type: 'bigint', value: (row) => row.occurredAt },
    unreadable: { type: 'text', value: unreadableOf },
  });
  return sql`(select i.*, timestamptz 'epoch' + i.occurred_ms * interval '1 millisecond' as occurred_at
          from ${unnested}) as i`;
}

/** Returns conditions on the fields that answers of the kind have, joined by `or`. */
export function anyOf(kind: Kind, part: (column: string) => string): SQL {
  return sql.raw(spokenBy[kind].map(({ column }) => `(${part(column)})`).join(' or '));
}

/** Returns an SQL array with the service's names of the kind's fields for which the condition holds. */
export function namesWhere(kind: Kind, condition: (column: string) => string): SQL {
  const names = spokenBy[kind].map(
    ({ column, name }) => `case when ${condition(column)} then '${name}' end`,
  );
  return sql.raw(`array_remove(array[${names.join(', ')}], null)`);
}

/** Returns an SQL object of the kind's fields by the service's names, their values as text; times in UTC. */
export function valuesOf(kind: Kind, value: (column: string) => string): SQL {
  const pairs = spokenBy[kind].map(({ column, name }) => {
    const text =
      name === 'time'
        ? `to_char(${value(column)} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
        : `(${value(column)})::text`;
    return `'${name}', ${text}`;
  });
  return sql.raw(`jsonb_build_object(${pairs.join(', ')})`);
}

/** Returns the array literal for the column `unreadable`; null as a rule. */
function unreadableOf({ unreadable }: Pick<TransactionRecord, 'unreadable'>): string | null {
  return unreadable ? `{${unreadable.join()}}` : null;
}

/**
 * Adds two relations after the join of `i` and `t`: `said` has the values of the row's last answer of the kind, `word`
 * those of the current answer. An unreadable field counts as unchanged.
 */
export function lastWords(kind: Kind): SQL {
  const columnOf = `t.${kind}_word`;
  const said = ({ column, type, only }: Field) => {
    const guess = only ? '' : ` when ${columnOf} = ${unknown} and i.${column} is null then null`;
    const first = kind === 'detail' ? ' when t.detail_synced_at is null then null' : '';
    return `case${first} when ${columnOf} ? '${column}' then (${columnOf} ->> '${column}')::${type}${guess} else t.${column} end as ${column}`;
  };
  const word = ({ column, name }: Field) =>
    `case when i.${column} is null and '${name}' = any(i.unreadable::text[]) then said.${column} else i.${column} end as ${column}`;
  const spoken = spokenBy[kind];
  return sql.raw(`cross join lateral (select ${spoken.map(said).join(', ')}) as said
   cross join lateral (select ${spoken.map(word).join(', ')}) as word`);
}

/**
 * Selects the row's values, the answer's values (columns `word_x`), and the row's values after the answer (`new_x`).
 */
export function wordsAndValues(kind: Kind): SQL {
  const valueAfter = kind === 'list' ? valueAfterList : valueAfterDetail;
  const columns = fields.flatMap(({ column, only }) => {
    if (only && only !== kind) return [`t.${column}`, `t.${column} as new_${column}`];
    return [
      `t.${column}`,
      `word.${column} as word_${column}`,
      `${valueAfter(column)} as new_${column}`,
    ];
  });
  return sql.raw(columns.join(',\n         '));
}

/**
 * Takes the list's value if it is new. An empty one clears the field only if the row's value is the list's last value.
 */
function valueAfterList(column: string): string {
  return `case when word.${column} is distinct from said.${column}
                 and (word.${column} is not null or not coalesce(t.list_word ? '${column}', false))
               then word.${column} else t.${column} end`;
}

/**
 * Takes the detail's value always. An empty one clears the field only if the row's value is the detail's last value.
 */
export function valueAfterDetail(column: string): string {
  return `coalesce(i.${column},
           case when word.${column} is not null or said.${column} is null or coalesce(t.detail_word ? '${column}', false)
                then t.${column} end)`;
}

/** Collects the answer's values (columns `word_x` of `row`) that differ from the row's new values `new_x`. */
export function wordsBeside(kind: Kind, row: string): SQL {
  return differing(kind, ({ column }) => `${row}.word_${column}`, row);
}

/** Collects the same for the other kind of answer: its last values, as the old row `row` holds them. */
export function keptWords(kind: Kind, row: string): SQL {
  const said = ({ column, type }: Field) =>
    `case when ${row}.${kind}_word ? '${column}' then (${row}.${kind}_word ->> '${column}')::${type} else ${row}.${column} end`;
  const hasSpoken = kind === 'detail' ? `${row}.detail_synced_at is not null` : 'true';
  return sql`case when ${sql.raw(`${row}.${kind}_word`)} = ${sql.raw(unknown)} then ${sql.raw(`${row}.${kind}_word`)}
                  when ${sql.raw(hasSpoken)} then ${differing(kind, said, row)} end`;
}

/** Builds the object only for rows with differing values, which saves its cost for the others. */
function differing(kind: Kind, said: (field: Field) => string, row: string): SQL {
  const spoken = spokenBy[kind];
  const isOther = (field: Field) => `${said(field)} is distinct from ${row}.new_${field.column}`;
  const names = spoken.map((field) => `case when ${isOther(field)} then '${field.column}' end`);
  const words = spoken.map((field) => `(${said(field)})::text`);
  return sql.raw(`case when ${spoken.map((field) => `(${isOther(field)})`).join(' or ')}
         then (select jsonb_object_agg(x.field, x.word)
                 from unnest(array[${names.join(', ')}], array[${words.join(', ')}]) as x (field, word)
                where x.field is not null) end`);
}

/** Returns the fields that the first detail fills although lists have them too; null if there are none. */
export function filledByFirstDetail(row: string): SQL {
  const filled = [...columnsOf('list'), 'extra'].map(
    (column) =>
      `case when ${row}.${column} is null and ${row}.new_${column} is not null then '${column}' end`,
  );
  return sql.raw(`nullif(array_remove(array[${filled.join(', ')}], null), '{}')`);
}
