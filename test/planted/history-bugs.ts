import type { PlantedBug } from './planted-bug.ts';

const words = 'src/ledger/answer-words.ts';
const listStore = 'src/ledger/store-listed-transactions.ts';
const detailStore = 'src/ledger/store-transaction-details.ts';
const wordTests = 'test/ledger/last-words.test.ts';
const listTests = 'test/ledger/store-listed-transactions.test.ts';
const historyTests = 'test/ledger/transactions-at.test.ts';
const asOf =
  'transactions_at gives what the table held at each moment, whatever has happened since';

/** Mistakes in telling what has changed, and when. */
export const historyBugs: PlantedBug[] = [
  {
    id: 'repeated-word-is-news',
    promise: 'Quiet',
    wrong: 'a list row is compared with what the detail says, not with what the list said before',
    file: words,
    find: 'case when t.list_word is null and i.unreadable is null',
    put: 'case when i.unreadable is null',
    caughtBy: {
      file: wordTests,
      name: 'the detail wins, and a list that repeats itself costs nothing, whatever its undocumented fields',
    },
  },
  {
    id: 'undocumented-field-is-news',
    promise: 'Quiet',
    wrong: 'an undocumented field that changes with every detail is a change each time',
    file: detailStore,
    find: 'case when c.differs or c.is_unsealed then',
    put: 'case when c.differs or true then',
    caughtBy: {
      file: wordTests,
      name: 'an undocumented field that changes with every detail is no change, and lets the checks grow apart',
    },
  },
  {
    id: 'unreadable-is-empty',
    promise: 'Exact',
    wrong: 'a value that cannot be read empties the field',
    file: words,
    find: "' = any(i.unreadable::text[])",
    put: "' = any('{}'::text[])",
    caughtBy: { file: wordTests, name: 'keeps its value where it could not be read' },
  },
  {
    id: 'emptied-field-kept',
    promise: 'Exact',
    wrong: 'a field that the list no longer fills keeps its old value',
    file: words,
    find: 'then word.${column} else t.${column} end',
    put: 'then coalesce(word.${column}, t.${column}) else t.${column} end',
    caughtBy: {
      file: wordTests,
      name: 'is emptied and logged for a list row, whose detail is due',
    },
  },
  {
    id: 'emptied-by-upgrade',
    promise: 'Exact',
    wrong: 'a list row empties what a detail brought to a row of an earlier version',
    file: words,
    find: "const guess = only ? '' :",
    put: "const guess = only !== 'list' ? '' :",
    caughtBy: {
      file: wordTests,
      name: 'is not written for list rows that are equal, or that lack what a detail had brought',
    },
  },
  {
    id: 'relisting-not-logged',
    promise: 'Exact',
    wrong: 'that a row is listed again leaves no line in the change log',
    file: listStore,
    find: "    'is_listed',\n",
    put: '',
    caughtBy: {
      file: listTests,
      name: 'a row that had vanished is listed and counted again, whatever it says',
    },
  },
  {
    id: 'first-detail-moves',
    promise: 'Exact',
    wrong: 'every detail counts as the first one, and earlier moments lose its fields',
    file: detailStore,
    find: 'case when s.is_first_detail then now() else t.first_detail_at end',
    put: 'now()',
    caughtBy: { file: historyTests, name: asOf },
  },
  {
    id: 'first-filling-forgotten',
    promise: 'Exact',
    wrong: 'what else the first detail filled is taken for known from first sight on',
    file: detailStore,
    find: 'case when s.is_first_detail then s.filled else',
    put: 'case when s.is_first_detail then null else',
    caughtBy: { file: historyTests, name: asOf },
  },
  {
    id: 'late-row-back-filled',
    promise: 'Exact',
    wrong: 'rows that came in live are told as back-filled ones',
    file: listStore,
    find: 'where s.last_walk_at is not null)',
    put: 'where s.last_walk_at is null)',
    caughtBy: {
      file: listTests,
      name: 'rows that came before the list was read to its end are back-filled ones, later rows are not',
    },
  },
  {
    id: 'one-answer-ends-listings',
    promise: 'Complete',
    wrong: 'one empty answer ends the listing of every balance',
    file: 'src/sync/ask-whole.ts',
    find: 'return { ...(await ask()), kept: first.records };',
    put: 'return { ...first, kept: [] };',
    caughtBy: {
      file: 'test/sync/sync-snapshots.test.ts',
      name: '%s: one answer that is empty, or names less, ends no listing',
    },
  },
];
