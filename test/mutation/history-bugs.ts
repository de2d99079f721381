import type { PlantedBug } from './planted-bug.ts';

const asOf =
  'transactions_at gives what the table held at each moment, whatever has happened since';

/** Mistakes in telling what has changed, and when. */
export const historyBugs: PlantedBug[] = [
  {
    id: 'repeated-word-is-news',
    promise: 'Quiet',
    wrong: 'a list row is compared with what the detail says, not with what the list said before',
    in: 'isListNews',
    find: 't.list_word is null and',
    put: '',
    caughtBy:
      'the detail wins, and a list that repeats itself costs nothing, whatever its undocumented fields',
  },
  {
    id: 'outdated-word-is-trusted',
    promise: 'Late changes are found',
    wrong:
      'a list that repeats the state from before a detail made the row final makes nothing due',
    in: 'listWordAfterDetail',
    find: 'is distinct from (${before}.is_final, ${before}.is_success)',
    put: 'is null',
    caughtBy:
      'a row whose detail became final after the list spoke is looked at once more when the list repeats itself',
  },
  {
    id: 'undocumented-field-is-news',
    promise: 'Quiet',
    wrong: 'an undocumented field that changes with every detail is a change each time',
    in: 'stored',
    find: 'c.is_unsealed',
    put: 'true',
    caughtBy:
      'an undocumented field that changes with every detail is no change, and lets the checks grow apart',
  },
  {
    id: 'unreadable-is-empty',
    promise: 'Exact',
    wrong: 'a value that cannot be read empties the field',
    in: 'lastWords',
    find: 'any(i.unreadable::text[])',
    put: "any('{}'::text[])",
    caughtBy: 'keeps its value where it could not be read',
  },
  {
    id: 'emptied-field-kept',
    promise: 'Exact',
    wrong: 'a field that the list no longer fills keeps its old value',
    in: 'valueAfterList',
    find: `then word.\${column}`,
    put: `then coalesce(word.\${column}, t.\${column})`,
    caughtBy: 'is emptied and logged for a list row, whose detail is due',
  },
  {
    id: 'emptied-by-upgrade',
    promise: 'Exact',
    wrong: 'a list row empties what a detail brought to a row of an earlier version',
    in: 'lastWords',
    find: "only ? ''",
    put: "only !== 'list' ? ''",
    caughtBy: 'is not written for list rows that are equal, or that lack what a detail had brought',
  },
  {
    id: 'relisting-not-logged',
    promise: 'Exact',
    wrong: 'that a row is listed again leaves no line in the change log',
    in: 'logged',
    find: ", 'is_listed'",
    put: '',
    caughtBy: 'a row that had vanished is listed and counted again, whatever it says',
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
    wrong: 'what else the first detail filled is taken for known from first sight on',
    in: 'storeTransactionDetails',
    find: 's.filled',
    put: 'null',
    caughtBy: asOf,
  },
  {
    id: 'late-row-back-filled',
    promise: 'Exact',
    wrong: 'rows that came in live are told as back-filled ones',
    in: 'inserted',
    find: 'last_walk_at is not null',
    put: 'last_walk_at is null',
    caughtBy:
      'rows that came before the list was read to its end are back-filled ones, later rows are not',
  },
  {
    id: 'one-answer-ends-listings',
    promise: 'Complete',
    wrong: 'one empty answer ends the listing of every balance',
    in: 'askWhole',
    find: '...second, kept: first.records',
    put: '...first, kept: []',
    caughtBy: '%s: one answer that is empty, or names less, ends no listing',
  },
];
