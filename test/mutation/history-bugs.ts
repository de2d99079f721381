import type { PlantedBug } from './planted-bug.ts';

const asOf =
  'transactions_at returns the content of the table at each moment, after any later changes';

/** Mistakes in recording changes and their times. */
export const historyBugs: PlantedBug[] = [
  {
    id: 'repeated-word-is-news',
    promise: 'Quiet',
    wrong: 'a list row is compared with the detail, not with the previous list row',
    in: 'isListNews',
    find: 't.list_word is null and',
    put: '',
    caughtBy:
      'the detail wins, and an unchanged list row writes nothing, with any undocumented fields',
  },
  {
    id: 'outdated-word-is-trusted',
    promise: 'Late changes are found',
    wrong:
      'a list that repeats the state from before a detail made the row final causes no further detail',
    in: 'listWordAfterDetail',
    find: 'is distinct from (${before}.is_final, ${before}.is_success)',
    put: 'is null',
    caughtBy:
      'a row whose detail became final after its list row is checked once more when the list repeats it',
  },
  {
    id: 'late-detail-is-believed',
    promise: 'Late changes are found',
    wrong: 'a detail that repeats a value which the list has replaced is never fetched again',
    in: 'takenBack',
    find: '(${isBack})',
    put: '(${isBack}) and false',
    caughtBy:
      'a detail that repeats the %s which the list has replaced is fetched again, ever more rarely, until both agree',
  },
  {
    id: 'lasting-difference-is-doubted',
    promise: 'Quiet',
    wrong: 'details that always differ from the list are fetched again and again',
    in: 'takenBack',
    find: '${row}.detail_synced_at is not null and ',
    put: '',
    caughtBy: 'details whose values always differ from those of the list are fetched once',
  },
  {
    id: 'undocumented-field-is-news',
    promise: 'Quiet',
    wrong: 'an undocumented field that changes with every detail is a change each time',
    in: 'stored',
    find: 'c.is_unsealed',
    put: 'true',
    caughtBy:
      'an undocumented field that changes with every detail is no change, and lets the checks become rarer',
  },
  {
    id: 'unreadable-is-empty',
    promise: 'Exact',
    wrong: 'a value that cannot be read empties the field',
    in: 'lastWords',
    find: 'any(i.unreadable::text[])',
    put: "any('{}'::text[])",
    caughtBy: 'keeps its value if it could not be read',
  },
  {
    id: 'emptied-field-kept',
    promise: 'Exact',
    wrong: 'a field that the list no longer fills keeps its old value',
    in: 'valueAfterList',
    find: `then word.\${column}`,
    put: `then coalesce(word.\${column}, t.\${column})`,
    caughtBy: 'becomes empty and is logged for a list row, whose detail is due',
  },
  {
    id: 'emptied-by-upgrade',
    promise: 'Exact',
    wrong: 'a list row empties what a detail brought to a row of an earlier version',
    in: 'lastWords',
    find: "only ? ''",
    put: "only !== 'list' ? ''",
    caughtBy: 'is not written for list rows that are equal, or that lack values of the detail',
  },
  {
    id: 'relisting-not-logged',
    promise: 'Exact',
    wrong: 'the return of a row to its list leaves no row in the change log',
    in: 'logged',
    find: ", 'is_listed'",
    put: '',
    caughtBy: 'a row that had vanished is listed and counted again, whatever its content',
  },
  {
    id: 'first-detail-moves',
    promise: 'Exact',
    wrong: 'every detail counts as the first one, and earlier moments lose its fields',
    in: 'storeTransactionDetails',
    find: 'case when s.is_first_detail then now() else t.first_detail_at end',
    put: 'now()',
    caughtBy: asOf,
  },
  {
    id: 'first-filling-forgotten',
    promise: 'Exact',
    wrong: 'further fields that the first detail filled count as known from first sight on',
    in: 'storeTransactionDetails',
    find: 's.filled',
    put: 'null',
    caughtBy: asOf,
  },
  {
    id: 'late-row-back-filled',
    promise: 'Exact',
    wrong: 'rows that arrived live are reported as back-filled ones',
    in: 'inserted',
    find: 'last_walk_at is not null',
    put: 'last_walk_at is null',
    caughtBy:
      'rows from before the first full scan ended are marked as back-filled, and later rows are not',
  },
  {
    id: 'one-answer-ends-listings',
    promise: 'Complete',
    wrong: 'one empty answer ends the listing of every balance',
    in: 'askWhole',
    find: '...second, kept: first.records',
    put: '...first, kept: []',
    caughtBy: '%s: one answer that is empty or lacks rows does not end any listing',
  },
];
