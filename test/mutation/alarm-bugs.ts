import type { PlantedBug } from './planted-bug.ts';

/** Mistakes in telling when the transactions do not add up to the balances, and in keeping what cannot be read. */
export const alarmBugs: PlantedBug[] = [
  {
    id: 'any-reason-explains',
    promise: 'The books add up',
    wrong: 'whatever is open explains any difference, however large',
    in: 'ledger.reconcile',
    find: 'abs(d.difference) <= c.open_amount',
    put: "c.reasons <> ''",
    caughtBy: '%s explains another coin only up to what fees were seen',
  },
  {
    id: 'open-for-ever',
    promise: 'The books add up',
    wrong: 'a difference that stands stays explained as long as enough else is open',
    in: 'ledger.reconcile',
    find: 'AND s.standing IS NULL,',
    put: ',',
    caughtBy:
      'a sum taken away from one row is unexplained within two readings while others are open',
  },
  {
    id: 'stale-lists-alarm',
    promise: 'The books add up',
    wrong: 'what moved between the reading of lists and balances is not counted as open',
    in: 'ledger.reconcile',
    find: '+ coalesce(h.moved_amount, 0)',
    put: '',
    caughtBy:
      'a balance that moved after the lists were read is explained until they are read again',
  },
  {
    id: 'chains-in-one-pot',
    promise: 'The books add up',
    wrong: 'an address that is on several chains is taken for one of the first of them',
    in: 'chainOfRow',
    find: 'having min(a.slip44) = max(a.slip44)',
    put: '',
    caughtBy:
      'rows of an unknown chain explain as much as they could make up, on the side where they could',
  },
  {
    id: 'reject-by-payload',
    promise: 'Nothing is dropped',
    wrong: 'a reject of a known order is told apart by its payload, which changes with each answer',
    in: 'fingerprintOf',
    find: "orderNo, field ?? ''",
    put: "orderNo, field ?? '', payload",
    caughtBy:
      'one cause is one reject, whatever else its payload says, and writes nothing within the hour',
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
    caughtBy: 'the list that brings an unreadable amount closes its reject',
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
    caughtBy: 'an older answer that comes later settles no reject',
  },
  {
    id: 'keyless-reject-for-ever',
    promise: 'Nothing is dropped',
    wrong: 'the reject of a row without an order number stays open after the row has gone',
    in: 'readBothLists',
    find: 'if (report.isComplete &&',
    put: 'if (!report.isComplete &&',
    caughtBy:
      'a reject without a key is resolved when both lists are proven to show no such row any more',
  },
  {
    id: 'vanished-rows-unsaid',
    promise: 'Honest',
    wrong: 'rows that vanish by tens from a list are no problem',
    in: 'rows_vanished.sql',
    find: 'v.rows >= 10',
    put: 'v.rows >= 100000',
    caughtBy: 'ten transactions that vanished from a list within a day need a person',
  },
  {
    id: 'refusals-of-vanished-rows',
    promise: 'Honest',
    wrong: 'a row that is no longer listed is said to be listed without a detail',
    in: 'details_of_listed_rows.sql',
    find: 'AND NOT EXISTS (SELECT FROM own.transactions t WHERE t.order_no = d.order_no AND NOT t.is_listed)',
    put: '',
    caughtBy: 'without details that are no longer listed need nobody',
  },
];
