import type { PlantedBug } from './planted-bug.ts';

const listStore = 'src/ledger/store-listed-transactions.ts';
const detailStore = 'src/ledger/store-transaction-details.ts';
const listTests = 'test/ledger/store-listed-transactions.test.ts';
const detailTests = 'test/ledger/store-transaction-details.test.ts';
const latest = 'ends with what the latest answer said of each order, counted and logged exactly';

/** Mistakes in writing what was read. */
export const ledgerBugs: PlantedBug[] = [
  {
    id: 'list-fence-dropped',
    promise: 'Monotonic',
    wrong: 'a list row overwrites whatever its answer’s number',
    file: listStore,
    find: 'where i.known_in is not null and i.observation > t.observation',
    put: 'where i.known_in is not null',
    caughtBy: { file: listTests, name: latest },
  },
  {
    id: 'detail-fence-reversed',
    promise: 'Monotonic',
    wrong: 'an older detail overwrites a later answer',
    file: detailStore,
    find: `where i.observation > t.observation
   order by`,
    put: `where i.observation < t.observation
   order by`,
    caughtBy: {
      file: detailTests,
      name: 'a detail older than the list row is left aside, and the row stays due',
    },
  },
  {
    id: 'balance-fence-dropped',
    promise: 'Monotonic',
    wrong: 'an earlier answer is stored after a later one that brought no change',
    file: 'src/ledger/store-snapshot.ts',
    find: 'where s.observation <= excluded.observation',
    put: 'where s.observation <> excluded.observation',
    caughtBy: {
      file: 'test/ledger/balance-store.test.ts',
      name: 'an answer that brought no change counts too: an earlier one that comes after it is left aside',
    },
  },
  {
    id: 'list-blanks-detail',
    promise: 'Exact',
    wrong: 'a list row without a value empties what a detail brought',
    file: detailStore,
    find: 'list_word = s.new_list_word,',
    put: 'list_word = t.list_word,',
    caughtBy: {
      file: detailTests,
      name: 'a list row blanks nothing that a detail brought, and a detail nothing that a list row brought',
    },
  },
  {
    id: 'equal-rows-written',
    promise: 'Quiet',
    wrong: 'rows that are equal are written all the same',
    file: listStore,
    find: 'and (not t.is_listed or t.stream',
    put: 'and (t.is_listed or t.stream',
    caughtBy: {
      file: listTests,
      name: 'rows that are equal are neither written nor locked, nor is their stream',
    },
  },
  {
    id: 'change-not-logged',
    promise: 'Exact',
    wrong: 'a changed amount leaves no line in the change log',
    file: listStore,
    find: "  'amount',\n",
    put: '',
    caughtBy: { file: listTests, name: latest },
  },
  {
    id: 'filling-logged',
    promise: 'Exact',
    wrong: 'what the first detail fills is logged as a change',
    file: 'src/ledger/transaction-statement.ts',
    find: 'is not null or not s.is_first_detail)',
    put: 'is not null or s.is_first_detail)',
    caughtBy: {
      file: detailTests,
      name: 'each changed field is logged once, filling an empty one is not',
    },
  },
  {
    id: 'count-not-moved',
    promise: 'Complete',
    wrong: 'a row that moves to the other list stays in the count of its old one',
    file: 'migrations/0015_last_words_and_history.sql',
    find: '- OLD.is_listed::integer, - (OLD.also_listed_in IS NOT NULL)::integer)',
    put: '0, - (OLD.also_listed_in IS NOT NULL)::integer)',
    caughtBy: {
      file: listTests,
      name: 'a row that two lists show stays in the first one, is marked, and takes both proofs off',
    },
  },
  {
    id: 'batch-not-deduplicated',
    promise: 'Convergent',
    wrong: 'an order that a batch names twice reaches the statement twice',
    file: 'src/ledger/transaction-statement.ts',
    find: 'newest.set(row.orderNo, row);',
    put: 'newest.set(row.orderNo + row.observation, row);',
    caughtBy: { file: listTests, name: latest },
  },
  {
    id: 'states-by-case',
    promise: 'Quiet',
    wrong: 'SUCCESS is not taken for success, and its detail is fetched again for ever',
    file: detailStore,
    find: 'f.state = lower(btrim(i.state))',
    put: 'f.state = i.state',
    caughtBy: {
      file: detailTests,
      name: 'a state is final in whatever case and between whatever blanks it is written',
    },
  },
  {
    id: 'checks-do-not-grow-apart',
    promise: 'Quiet',
    wrong: 'an open row is looked at every 15 s for ever',
    file: detailStore,
    find: '/ 2))`;',
    put: '* 0))`;',
    caughtBy: {
      file: detailTests,
      name: 'a row that has stood still for %s is due again in %i seconds',
    },
  },
  {
    id: 'claim-without-lease',
    promise: 'Convergent',
    wrong: 'a claimed row stays due, and every worker takes it',
    file: detailStore,
    find: 'set next_check_at = now() + $',
    put: 'set next_check_at = now() + 0 * $',
    caughtBy: { file: detailTests, name: 'come back after the lease, and at once when given back' },
  },
  {
    id: 'lost-lease-writes',
    promise: 'Convergent',
    wrong: 'a pass that has lost its stream goes on writing its checkpoint',
    file: 'src/ledger/stream-store.ts',
    find: `     where name = \${name} and lease_owner = \${owner}
    returning ledger_count`,
    put: `     where name = \${name} and \${owner} <> ''
    returning ledger_count`,
    caughtBy: {
      file: 'test/ledger/stream-store.test.ts',
      name: 'an owner whose connections are gone loses the stream at once, and writes nothing more',
    },
  },
  {
    id: 'migrate-without-lock',
    promise: 'Convergent',
    wrong: 'two that migrate at once do not wait for each other',
    file: 'src/ledger/migrate-ledger.ts',
    find: 'select pg_advisory_lock($1)',
    put: 'select pg_advisory_lock_shared($1)',
    caughtBy: {
      file: 'test/ledger/migrate-ledger.test.ts',
      name: 'of five that migrate a fresh database at once one applies everything',
    },
  },
  {
    id: 'reader-writes',
    promise: 'Roles',
    wrong: 'the reader may insert',
    file: 'src/ledger/grant-roles.ts',
    find: "'grant select on all tables in schema ledger to %I'",
    put: "'grant select, insert on all tables in schema ledger to %I'",
    caughtBy: {
      file: 'test/ledger/grant-roles.test.ts',
      name: 'a reader reads every table and view, later ones included, and writes none',
    },
  },
];
