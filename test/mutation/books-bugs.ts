import type { PlantedBug } from './planted-bug.ts';

const recount =
  'after any statements, rolled back ones included, the totals are what a recount gives, in three time zones';

/** Mistakes in sums and books. */
export const booksBugs: PlantedBug[] = [
  {
    id: 'totals-count-unlisted',
    promise: 'Totals',
    wrong: 'inserted rows that are not listed are counted',
    in: 'engine.note_inserted_totals',
    find: 'WHERE n.is_listed',
    put: '',
    caughtBy: recount,
  },
  {
    id: 'totals-keep-former-values',
    promise: 'Totals',
    wrong: 'an update adds the new values and keeps the former ones',
    in: 'engine.note_updated_totals',
    find: 'SELECT -1, o.stream',
    put: 'SELECT 0, o.stream',
    caughtBy: 'a transaction that keeps its snapshot leaves the adding up to others',
  },
  {
    id: 'totals-wait-to-fold',
    promise: 'Totals',
    wrong: 'a writer waits for another one that adds the changes up',
    in: 'engine.fold_totals',
    find: 'NOT pg_try_advisory_xact_lock(7246007)',
    put: 'pg_advisory_xact_lock(7246007) IS NULL',
    caughtBy:
      'concurrent transactions on the same groups never wait for one another, and every snapshot shows right totals',
  },
  {
    id: 'fee-not-booked',
    promise: 'Double entry',
    wrong: 'a fee is charged to the fees and not taken from custody',
    in: 'ledger.postings',
    find: '- nullif(t.fee, 0)',
    put: 'NULL::numeric',
    caughtBy:
      'postings add up to 0 per order and coin, and per account to what moved; what is not known is counted',
  },
  {
    id: 'opening-forward',
    promise: 'Double entry',
    wrong: 'the balance before the first reading is that of the reading',
    in: 'ledger.balance_at',
    find: 'THEN balance_at.balance - coalesce',
    put: 'THEN balance_at.balance + 0 * coalesce',
    caughtBy:
      'a statement opens and closes with the balances that were read, or were computed back, in any time zone',
  },
  {
    id: 'parquet-cuts-digits',
    promise: 'Books',
    wrong: 'an amount with more digits than a Parquet decimal holds is cut without a word',
    in: 'decimal38',
    find: '|| digits.length > scale',
    put: '|| digits.length > scale * 9',
    caughtBy: 'an amount is scaled by 10^18 to the last digit, or not at all',
  },
];
