import { type SQL, sql } from 'drizzle-orm';
import { each, keptWords, sharedColumns } from './answer-words.ts';

/**
 * Marks in the column `list_word`: why the list's last values, which differ from the row's, may be right after all.
 */

/**
 * Marks the last list value of a row that a detail has made final, or open, since. If the list still shows this state,
 * either the list lags, or the row has changed back: then the next list row makes the detail due once more.
 */
const outdated = sql`'outdated'`;

/**
 * Names the fields that a detail has taken back from the list: it repeats a value that the list has replaced since, or
 * replaces one in which both agreed. It may come from a replica that is behind, so it is fetched again until both
 * agree. A first detail takes nothing back: some services always show two values of a field.
 */
const contradicted = 'contradicted';

/** Columns that a detail may rightly replace before the list does. */
const aheadOfList = new Set(['state', 'request_id', 'occurred_at']);

/** Collects the list's last values, with their marks; `row` has the row's values before and after a detail. */
export function listWordAfterDetail(row: string): SQL {
  const before = sql.raw(row);
  return sql`(select case when jsonb_typeof(w.word) <> 'object' then w.word
                   else w.word
                        || case when w.word ? 'state' and (coalesce(${before}.list_word ? ${outdated}, false)
                                  or (${before}.new_is_final, ${before}.new_is_success) is distinct from (${before}.is_final, ${before}.is_success))
                                then jsonb_build_object(${outdated}, true) else '{}' end
                        || (select case when cardinality(k.names) > 0 then jsonb_build_object('${sql.raw(contradicted)}', k.names) else '{}' end
                              from (select ${takenBack(row)} as names) as k) end
                from (select ${keptWords('list', row)} as word) as w)`;
}

/** Returns an array of the columns that the detail has taken back; `w.word` has the last values of the list. */
function takenBack(row: string): SQL {
  const names = sharedColumns.map(({ column, type }) => {
    const isRepeated = `${row}.detail_word ? '${column}' and ${row}.word_${column} = (${row}.detail_word ->> '${column}')::${type}`;
    const isReplaced = `${row}.detail_synced_at is not null and ${row}.${column} is not null and not coalesce(${row}.list_word ? '${column}', false)`;
    const isBack = aheadOfList.has(column) ? isRepeated : `${isRepeated} or ${isReplaced}`;
    return `case when w.word ? '${column}'
                   and (coalesce(${row}.list_word -> '${contradicted}' ? '${column}', false)
                        or ${row}.new_${column} is distinct from ${row}.${column} and (${isBack})) then '${column}' end`;
  });
  return sql.raw(`array_remove(array[${names.join(', ')}], null)`);
}

/** Returns the condition that a detail has taken back values of the list, from the column `list_word`. */
export function isContradicted(listWord: string): SQL {
  return sql.raw(`coalesce(${listWord} ? '${contradicted}', false)`);
}

/** Condition that a list row repeats an outdated state. */
export const isOutdatedWord = sql`coalesce(t.list_word ? ${outdated}, false) and word.state is distinct from t.state`;

/** Condition that the detail may not be the last word about a value that a list row repeats. */
export const isDoubtfulWord = sql`(${isOutdatedWord} or ${isContradicted('t.list_word')})`;

/** Condition that a list row brings a value that the list did not bring before, or repeats an outdated state. */
export const isListNews = sql`${isOutdatedWord} or case when t.list_word is null and i.unreadable is null
              then (${each('list', (c) => `i.${c}`)}) is distinct from (${each('list', (c) => `t.${c}`)})
              else (${each('list', (c) => `word.${c}`)}) is distinct from (${each('list', (c) => `said.${c}`)}) end`;
