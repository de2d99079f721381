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
    find: 'SELECT -1, o.wallet',
    put: 'SELECT 0, o.wallet',
    caughtBy: 'a transaction that keeps its snapshot leaves the adding up to others',
  },
  {
    id: 'totals-forget-detail',
    promise: 'Totals',
    wrong: 'rows that wait for their detail are summed with those that have it',
    in: 'engine.note_inserted_totals',
    find: 'n.detail_synced_at IS NULL',
    put: 'false',
    caughtBy: recount,
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
    id: 'totals-keep-lost-fee',
    promise: 'Totals',
    wrong:
      'the largest fee of a group stays after its transaction has left, until the changes are added up',
    in: 'engine.all_sums_now',
    find: 'g.lost_fee >= g.largest_fee',
    put: 'false',
    caughtBy:
      'a fee that was lowered no longer explains a difference, before the totals are added up, too',
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
    id: 'customer-of-another-wallet',
    promise: 'Double entry',
    wrong: 'a deposit is booked on the customer who has the address in another wallet',
    in: 'ledger.postings',
    find: 'h.wallet = t.wallet AND ',
    put: '',
    caughtBy: 'of each of two wallets the books say what a ledger with that wallet alone says',
  },
  {
    id: 'late-in-another-wallet',
    promise: 'Closed months',
    wrong: 'a row is a late entry because another wallet has closed the month',
    in: 'engine.closed_lines',
    find: 'c.wallet = of_wallet AND ',
    put: '',
    caughtBy: 'of each of two wallets the books say what a ledger with that wallet alone says',
  },
  {
    id: 'deposit-in-two-transfers',
    promise: 'Transfers between wallets',
    wrong: 'two withdrawals with one hash are paired with the same deposit',
    in: 'engine.match_transfers',
    find: 'matched && ARRAY[c.sent, c.received]',
    put: 'c.sent = ANY (matched)',
    caughtBy:
      'each withdrawal has the best deposit of another wallet, and each row is in one pair at most',
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
    id: 'opening-hides-deficit',
    promise: 'Books',
    wrong:
      'money that is missing is booked as an opening below zero, so that the balance is asserted',
    in: 'dayEndRows',
    find: 'order by s.day), 0) end',
    put: "order by s.day), '-Infinity') end",
    caughtBy:
      'a balance below what the transactions add up to is a remark, and no opening hides it',
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
  {
    id: 'closed-month-read-anew',
    promise: 'Closed months',
    wrong: 'the export of a closed month is read from the ledger as it is now',
    in: 'findClosedMonths',
    find: 'row.is_closed',
    put: 'row.month === null',
    caughtBy:
      'the export of a closed month stays the same byte for byte, whatever comes, changes or is renamed',
  },
  {
    id: 'digest-believed',
    promise: 'Closed months',
    wrong: 'the list of closed months takes the recorded digest for that of the kept books',
    in: 'judge',
    find: '(await digestOf(books)) === row.digest',
    put: '(await digestOf(books)) !== null',
    caughtBy: 'kept books that were changed by hand are found by their digest',
  },
  {
    id: 'closed-while-open',
    promise: 'Closed months',
    wrong: 'a month with transactions that are not final is closed',
    in: 'selects',
    find: 'not t.is_final and t.is_listed',
    put: 'false and t.is_listed',
    caughtBy: 'a month that is not proven complete is not closed, and the reasons are named',
  },
  {
    id: 'closed-unproven',
    promise: 'Closed months',
    wrong: 'a month is closed although a list is not proven complete',
    in: 'selects',
    find: 'not s.is_complete then',
    put: 'false then',
    caughtBy: 'a month that is not proven complete is not closed, and the reasons are named',
  },
  {
    id: 'closed-before-a-time-is-read',
    promise: 'Closed months',
    wrong: 'a month is closed although a transaction whose time cannot be read may lie in it',
    in: 'selects',
    find: 't.occurred_at is null and t.first_seen_at',
    put: 'false and t.first_seen_at',
    caughtBy: 'a month stays open while a row whose time cannot be read may belong to it',
  },
  {
    id: 'closed-behind-a-writer',
    promise: 'Closed months',
    wrong:
      'what is written between reading the books and closing the month is in neither books nor late entries',
    in: 'closeOnce',
    find: '!== fingerprint) return null',
    put: '=== fingerprint.slice(0, 0)) return null',
    caughtBy:
      'a closing that is killed or interrupted leaves nothing, and what is written meanwhile is in the books',
  },
  {
    id: 'publication-stands-still',
    promise: 'Publication',
    wrong: 'tables of a newer version are not added to the publication',
    in: 'bringUpToDate',
    find: '} else if (missing.length > 0) {',
    put: '} else if (missing.length < 0) {',
    caughtBy: 'a subscriber gets the rows of ledger and their changes, and tables that come later',
  },
  {
    id: 'publication-without-identity',
    promise: 'Publication',
    wrong: 'a table without a primary key is published without a replica identity',
    in: 'bringUpToDate',
    find: 'if (!each.hasKey)',
    put: 'if (each.hasKey && missing.length < 0)',
    caughtBy: 'a subscriber gets the rows of ledger and their changes, and tables that come later',
  },
  {
    id: 'publication-with-unsent-key',
    promise: 'Publication',
    wrong: 'the key of the published addresses has a column that is not sent',
    in: 'identifyAddresses',
    find: "c.relreplident = 'd'",
    put: "c.relreplident = 'n'",
    caughtBy:
      'a subscriber of the runbook follows addresses that are taken, and its views answer as those of the ledger',
  },
  {
    id: 'publication-without-sums',
    promise: 'Publication',
    wrong: 'the sums that the views of a subscriber read are not published',
    in: 'bringUpToDate',
    find: "n.nspname = 'engine'",
    put: "n.nspname = 'none'",
    caughtBy:
      'every published row has an identity that is sent, and every view but those for the publisher is fed',
  },
  {
    id: 'column-dropped-under-views',
    promise: 'Upgrades keep what is built on it',
    wrong: 'a column is dropped although views of analysts show it',
    in: 'detail_checks.sql',
    find: 'EXCEPTION WHEN dependent_objects_still_exist THEN',
    put: 'EXCEPTION WHEN division_by_zero THEN',
    caughtBy:
      'an upgrade keeps the views, grants and publication of analysts, and all of them answer afterwards',
  },
  {
    id: 'fees-awaited-for-ever',
    promise: 'True',
    wrong: 'a fee that was first awaited later explains a difference',
    in: 'ledger.awaiting_fees',
    find: ') <= a.since',
    put: ') IS NOT NULL',
    caughtBy:
      'a fee is awaited of a withdrawal in every coin, of a deposit in its own, and of none seen later',
  },
];
