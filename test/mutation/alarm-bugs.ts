import type { PlantedBug } from './planted-bug.ts';

/** Mistakes in the comparison of transactions with balances, and in rejects. */
export const alarmBugs: PlantedBug[] = [
  {
    id: 'any-reason-explains',
    promise: 'The books add up',
    wrong: 'any open row explains any difference, however large',
    in: 'ledger.reconcile',
    find: 'abs(d.difference) <= c.open_amount',
    put: "c.reasons <> ''",
    caughtBy: '%s explains another coin only up to the fees seen',
  },
  {
    id: 'open-for-ever',
    promise: 'The books add up',
    wrong: 'a permanent difference stays explained as long as enough other rows are open',
    in: 'ledger.reconcile',
    find: 'AND s.standing IS NULL,',
    put: ',',
    caughtBy:
      'an amount removed from one row is unexplained within two readings while other rows are open',
  },
  {
    id: 'stale-lists-alarm',
    promise: 'The books add up',
    wrong: 'a movement between the reading of lists and balances is not counted as open',
    in: 'ledger.reconcile',
    find: '+ coalesce(h.moved_amount, 0)',
    put: '',
    caughtBy:
      'a balance that moved after the lists were read is explained until they are read again',
  },
  {
    id: 'chains-in-one-pot',
    promise: 'The books add up',
    wrong: 'an address that is on several chains is assigned to one of the first of them',
    in: 'chainOfRow',
    find: 'having min(a.slip44) = max(a.slip44)',
    put: '',
    caughtBy:
      'rows of an unknown chain explain a difference only up to their amounts, and only in their direction',
  },
  {
    id: 'reject-by-payload',
    promise: 'Nothing is dropped',
    wrong: 'a reject of a known order is identified by its payload, which changes with each answer',
    in: 'fingerprintOf',
    find: "orderNo, field ?? ''",
    put: "orderNo, field ?? '', payload",
    caughtBy:
      'one cause is one reject, whatever else its payload has, and is written at most once an hour',
  },
  {
    id: 'reject-never-closed',
    promise: 'Nothing is dropped',
    wrong: 'the detail that brings a value leaves its reject open',
    in: 'openDetailPort',
    find: "'transaction-detail', rows, rejects",
    put: "'transaction-detail', [], rejects",
    caughtBy:
      'the detail that brings an unreadable amount closes its reject, and no poll opens it again',
  },
  {
    id: 'reject-left-open-by-the-list',
    promise: 'Nothing is dropped',
    wrong: 'the list that brings a value leaves its reject open',
    in: 'prepareBatch',
    find: 'rejectSource, good,',
    put: 'rejectSource, [],',
    caughtBy: 'a list row with an amount closes the reject of an unreadable one',
  },
  {
    id: 'reject-closed-by-another-kind',
    promise: 'Nothing is dropped',
    wrong: 'a list row closes the reject of its detail, which the service still sends',
    in: 'isSettled',
    find: 'reject.source === source',
    put: 'reject.source === source || reject.source.length > 0',
    caughtBy: 'a later detail that cannot be read stays a reject until a detail brings the value',
  },
  {
    id: 'reject-closed-by-an-old-answer',
    promise: 'Monotonic',
    wrong: 'an answer that was sent before the unreadable one closes its reject',
    in: 'closeAnsweredRejects',
    find: 'answer.observation >= (reject.observation ?? 0) &&',
    put: '',
    caughtBy: 'an older answer that arrives later resolves no reject',
  },
  {
    id: 'keyless-reject-for-ever',
    promise: 'Nothing is dropped',
    wrong: 'the reject of a row without an order number stays open after the row has disappeared',
    in: 'readBothLists',
    find: 'if (report.isComplete &&',
    put: 'if (!report.isComplete &&',
    caughtBy:
      'a reject without a key is resolved when both lists are proven to show no such row any more',
  },
  {
    id: 'vanished-rows-unsaid',
    promise: 'Honest',
    wrong: 'it is not reported that ten or more rows vanish from a list',
    in: 'rows_vanished.sql',
    find: 'v.rows >= 10',
    put: 'v.rows >= 100000',
    caughtBy:
      'that vanished from a list are a problem that needs a person if there are ten of them within a day',
  },
  {
    id: 'refusals-of-vanished-rows',
    promise: 'Honest',
    wrong: 'a row that is no longer listed is reported as listed without a detail',
    in: 'details_of_listed_rows.sql',
    find: 'AND NOT EXISTS (SELECT FROM own.transactions t WHERE t.order_no = d.order_no AND NOT t.is_listed)',
    put: '',
    caughtBy: 'without details that are no longer listed need no attention',
  },
  {
    id: 'unreadable-is-equal',
    promise: 'Exact',
    wrong: 'verify treats a value that it cannot read as equal to the stored one',
    in: 'readUnreadable',
    find: 'r.field is not null and',
    put: 'r.field is null and',
    caughtBy:
      '%s never counts a value that it cannot read as equal to a stored one, and keeps the reject until it can',
  },
  {
    id: 'reject-of-verify-lost',
    promise: 'Nothing is dropped',
    wrong: 'verify counts a row without an order number and stores no reject for it',
    in: 'scanPages',
    find: 'await storeRejects(context.ledger.db, rejects);',
    put: 'await storeRejects(context.ledger.db, rejects.slice(0, 0));',
    caughtBy:
      '%s keeps the reject of a row without a usable order number, until the list shows none',
  },
  {
    id: 'reject-outlives-its-cure',
    promise: 'Exact',
    wrong: 'verify reads the value again and leaves its reject open',
    in: 'compareBatch',
    find: "await closeAnsweredRejects(tx, 'transaction-list', equal, rejects);",
    put: "await closeAnsweredRejects(tx, 'transaction-list', equal.slice(0, 0), rejects);",
    caughtBy:
      '%s never counts a value that it cannot read as equal to a stored one, and keeps the reject until it can',
  },
  {
    id: 'findings-lost-with-a-part',
    promise: 'Honest',
    wrong: 'a part that the service does not answer ends the whole comparison',
    in: 'openParts',
    find: '!onFailure || !isOfService(error)',
    put: "!onFailure || !isOfService(error) || name !== ''",
    caughtBy: 'compared results are returned although the service answers one part with HTTP 500',
  },
  {
    id: 'unread-balance-agrees',
    promise: 'Honest',
    wrong: 'a coin whose balance could not be read agrees to the digit with no transactions',
    in: 'unread_balances.sql',
    find: 'w.difference = 0 AND (w.is_unread OR w.open_amount IS NOT NULL)',
    put: 'w.difference = 0',
    caughtBy: 'no transactions and %s',
  },
  {
    id: 'moved-balance-equal',
    promise: 'Honest',
    wrong:
      'verify calls balances equal that it does not judge, because transactions may have moved them',
    in: 'comparisonOf',
    find: 'moved: differing(true)',
    put: 'moved: differing(true).slice(0, 0)',
    caughtBy:
      'verify does not call a balance equal that transactions may have moved, and a repair reads it again',
  },
];
