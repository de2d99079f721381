import type { PlantedBug } from './planted-bug.ts';

const besideDoubt = 'equal counts behind a full scan prove nothing together with %s';

/** Mistakes in the claim that the ledger equals the service's list, and in examining doubts about it. */
export const proofBugs: PlantedBug[] = [
  {
    id: 'proof-of-unequal-counts',
    promise: 'True',
    wrong: 'a full scan is a proof, whatever the two counts are now',
    in: 'ledger.streams.is_complete',
    find: 'and service_total = ledger_count',
    put: '',
    caughtBy:
      'a stream backed by a full scan (%s) that the service counts as %s and the ledger as 0 is complete: %s',
  },
  {
    id: 'proof-of-two-lists',
    promise: 'True',
    wrong: 'a row that both lists show ends no proof',
    in: 'ledger.streams.is_complete',
    find: 'conflicts = 0 and',
    put: '',
    caughtBy: 'a row that two lists show stays in the first one, is marked, and ends both proofs',
  },
  {
    id: 'proof-beside-a-difference',
    promise: 'True',
    wrong: 'counts that are equal by chance are a proof while an accepted difference stands',
    in: 'ledger.streams.is_complete',
    find: 'and accepted_difference = 0',
    put: '',
    caughtBy: besideDoubt,
  },
  {
    id: 'proof-beside-a-doubt',
    promise: 'True',
    wrong: 'equal counts are a proof although days were seen to differ',
    in: 'ledger.streams.is_complete',
    find: 'doubt is null and',
    put: '',
    caughtBy: besideDoubt,
  },
  {
    id: 'proof-of-a-given-up-scan',
    promise: 'True',
    wrong:
      'a scan that has gone back as often as allowed and continues over the seam counts as clean',
    in: 'afterStep',
    find: '&& !isSeamOpen',
    put: '|| isSeamOpen',
    caughtBy: 'a scan that has gone back as often as allowed and continues is not clean',
  },
  {
    id: 'one-scan-marks-gone',
    promise: 'Unlisted after two readings',
    wrong: 'rows that one scan of a list without an order has not met are marked as unlisted',
    in: 'unlistTwiceUnseen',
    find: '=> unseenBefore.has(key)',
    put: '=> unseenBefore.size >= 0 || unseenBefore.has(key)',
    caughtBy: 'a row that a single scan of a list without an order has not met stays listed',
  },
  {
    id: 'restart-undone',
    promise: 'Complete',
    wrong: 'a restart leaves the list to the pass that holds it, whose checkpoint undoes it',
    in: 'restartStreams',
    find: ', lease_owner = null, lease_until = null',
    put: '',
    caughtBy:
      'a restart takes the stream from the pass that holds it, which can no longer undo the restart',
  },
  {
    id: 'fruitless-scans-at-once',
    promise: 'Cheap doubts',
    wrong: 'a scan that explained nothing is repeated as soon as the budget allows',
    in: 'isScanAffordable',
    find: '2 **',
    put: '1 **',
    caughtBy: 'each scan that explains nothing about doubles the wait before the next one',
  },
  {
    id: 'torn-seam',
    promise: 'True',
    wrong:
      'a scan that went back continues with a page that shares no row with the rows it has met',
    in: 'isTorn',
    find: '!isBack',
    put: 'isBack',
    caughtBy:
      'if the total falls by less than the rows that moved, the scan goes back until it meets rows that it has met before',
  },
  {
    id: 'two-lists-without-a-search',
    promise: 'Complete',
    wrong: 'a row in two lists is not searched for while the counts are equal',
    in: 'isScanDue',
    find: 'conflicts > 0',
    put: 'conflicts < 0',
    caughtBy: 'a row in both lists is searched for if late rows make the counts equal (%s, %s)',
  },
  {
    id: 'type-of-the-list-it-left',
    promise: 'Exact',
    wrong: 'a row that moves to the other list keeps the type of the list it left',
    in: 'unlistRows',
    find: 'type = g.new_type',
    put: 'type = g.type',
    caughtBy: 'a row has the type that its list last gave it, also if the other list had it first',
  },
  {
    id: 'days-beside-guests',
    promise: 'True',
    wrong: 'a scan whose last pages had rows of another list proves its days all the same',
    in: 'isReadWhole',
    find: '=== 0',
    put: '>= 0',
    caughtBy:
      'a row of another list on the last pages of a scan does not compensate for a vanished row',
  },
  {
    id: 'days-compared-beside-guests',
    promise: 'True',
    wrong: 'a day is marked as verified by the count of rows, some of which another list counts',
    in: 'compareDays',
    find: 'guests.length > 0',
    put: 'guests.length < 0',
    caughtBy:
      'a day with a row that another list counts is reported neither as equal nor as different',
  },
  {
    id: 'days-compared-beside-writers',
    promise: 'True',
    wrong: 'a day is compared with rows that another transaction is deleting',
    in: 'compareDays',
    find: 'await db.execute(lockedList(stream));',
    put: '',
    caughtBy:
      'a day does not count as verified if one of its rows was deleted during the comparison',
  },
  {
    id: 'pages-read-and-dropped',
    promise: 'True',
    wrong:
      'pages that are read to find vanished rows count for the total, and their rows are dropped',
    in: 'collect',
    find: 'facts.listed > 0',
    put: 'facts.listed < 0',
    caughtBy:
      'the rows of a page whose total is trusted are stored, also if it is read to find vanished rows',
  },
  {
    id: 'text-of-a-fault',
    promise: 'Nothing is lost',
    wrong: 'a row whose answer resembles that of a bad row counts as bad without another request',
    in: 'isKnown',
    find: 'some((row) => rowTextOf(row.failure) === text)',
    put: 'length < 0',
    caughtBy: 'rows behind a bad row with the same fault are read once the fault has passed',
  },
  {
    id: 'scan-by-a-capped-total',
    promise: 'Cheap doubts',
    wrong: 'a scan expects the length that the service claims for the list',
    in: 'requestsToScan',
    find: 'Math.max',
    put: 'Math.min',
    caughtBy: '200 passes over 100 pages cost at most twice as much as with an honest service: %s',
  },
  {
    id: 'day-with-an-unstored-row',
    promise: 'Verified days',
    wrong:
      'a day is marked as verified although the service lists a row of it that cannot be stored',
    in: 'compareDays',
    find: 'x.is_equal and not ${isUnstored(unstored)}',
    put: 'x.is_equal',
    caughtBy:
      'a day with a row that cannot be stored is marked as verified by no scan, poll or audit: %s',
  },
];
