import { migrationNamed } from './migration-named.ts';
import type { PlantedBug } from './planted-bug.ts';

const proof = migrationNamed('proof_and_coverage');
const streams = 'test/ledger/stream-store.test.ts';
const named = (name: string) => ({ file: 'test/sync/named-histories.test.ts', name });
const besideDoubt = 'equal counts behind a full scan prove nothing beside %s';

/** Mistakes in claiming that the ledger lists what the service lists, and in looking into what speaks against it. */
export const proofBugs: PlantedBug[] = [
  {
    id: 'proof-of-unequal-counts',
    promise: 'True',
    wrong: 'a full scan is a proof, whatever the two counts are since',
    file: proof,
    find: 'and service_total is not null and service_total = ledger_count) STORED',
    put: 'and service_total is not null) STORED',
    caughtBy: {
      file: streams,
      name: 'a stream backed by a full scan (%s) that the service counts as %s and the ledger as 0 is complete: %s',
    },
  },
  {
    id: 'proof-of-two-lists',
    promise: 'True',
    wrong: 'a row that both lists show takes no proof off',
    file: proof,
    find: '(is_backed and doubt is null and conflicts = 0 and accepted_difference = 0',
    put: '(is_backed and doubt is null and accepted_difference = 0',
    caughtBy: {
      file: 'test/ledger/store-listed-transactions.test.ts',
      name: 'a row that two lists show stays in the first one, is marked, and takes both proofs off',
    },
  },
  {
    id: 'proof-beside-a-difference',
    promise: 'True',
    wrong: 'counts that are equal by chance are a proof while an accepted difference stands',
    file: proof,
    find: '(is_backed and doubt is null and conflicts = 0 and accepted_difference = 0',
    put: '(is_backed and doubt is null and conflicts = 0',
    caughtBy: { file: streams, name: besideDoubt },
  },
  {
    id: 'proof-beside-a-doubt',
    promise: 'True',
    wrong: 'equal counts are a proof although days were seen to differ',
    file: proof,
    find: '(is_backed and doubt is null and conflicts = 0 and accepted_difference = 0',
    put: '(is_backed and conflicts = 0 and accepted_difference = 0',
    caughtBy: { file: streams, name: besideDoubt },
  },
  {
    id: 'proof-of-a-given-up-scan',
    promise: 'True',
    wrong:
      'a scan that has gone back as often as it may, and goes on over the seam, is a clean one',
    file: 'src/sync/decide-scan-step.ts',
    find: 'isClean: walk.isClean && !isSeamOpen,',
    put: 'isClean: walk.isClean || isSeamOpen,',
    caughtBy: {
      file: 'test/sync/read-list.test.ts',
      name: 'a scan that has gone back as often as it may, and goes on, is not clean',
    },
  },
  {
    id: 'one-scan-marks-gone',
    promise: 'Unlisted after two readings',
    wrong: 'rows that one scan of a list without an order has not met are marked as gone',
    file: 'src/sync/conclude-scan.ts',
    find: 'const vanished = unseen.filter((key) => unseenBefore.has(key));',
    put: 'const vanished = unseen.filter((key) => unseenBefore.size >= 0 || unseenBefore.has(key));',
    caughtBy: {
      file: 'test/sync/read-list.test.ts',
      name: 'whatever happens meanwhile, no row that the service lists is marked as gone',
    },
  },
  {
    id: 'restart-undone',
    promise: 'Complete',
    wrong: 'a restart leaves the list to the pass that holds it, whose checkpoint undoes it',
    file: 'src/ledger/stream-store.ts',
    find: `
      doubt = null, lease_owner = null, lease_until = null
    where`,
    put: `
      doubt = null
    where`,
    caughtBy: {
      file: streams,
      name: 'a restart takes the stream from the pass that holds it, which can no longer undo it',
    },
  },
  {
    id: 'fruitless-scans-at-once',
    promise: 'Cheap doubts',
    wrong: 'a scan that explained nothing is made again as soon as the budget allows',
    file: 'src/sync/doubt.ts',
    find: 'const patience = 2 ** Math.min(fruitlessScans, fruitlessMax);',
    put: 'const patience = 1 ** Math.min(fruitlessScans, fruitlessMax);',
    caughtBy: {
      file: 'test/sync/read-list.test.ts',
      name: 'each scan that explains nothing makes the next one wait about twice as long',
    },
  },
  {
    id: 'torn-seam',
    promise: 'True',
    wrong: 'a scan that went back goes on with a page that shares no row with what it has met',
    file: 'src/sync/decide-scan-step.ts',
    find: 'if (!isBack || page === 1 || keys.length === 0) return false;',
    put: 'if (isBack || page === 1 || keys.length === 0) return false;',
    caughtBy: named(
      'where the total falls by less than what has moved, the scan goes back until it meets what it has met before',
    ),
  },
  {
    id: 'unsteady-scans',
    promise: 'Unlisted after two readings',
    wrong: 'rows that were not met by two scans over replicas in turn are marked as gone',
    file: 'src/sync/conclude-scan.ts',
    find: 'if (hasRisen && hasFallen) return 0;',
    put: 'if (hasRisen && !hasRisen) return 0;',
    caughtBy: named('scans in which the total rose and fell are no evidence that a row has gone'),
  },
  {
    id: 'days-beside-guests',
    promise: 'True',
    wrong: 'a scan whose last pages brought rows of another list proves its days all the same',
    file: 'src/sync/conclude-scan.ts',
    find: 'const isReading = walk.reading !== null && state.guests === 0;',
    put: 'const isReading = walk.reading !== null && state.guests >= 0;',
    caughtBy: named(
      'a row of another list that comes in with the last pages of a scan makes up for none that has vanished',
    ),
  },
  {
    id: 'days-compared-beside-guests',
    promise: 'True',
    wrong: 'a day is marked as verified by the count of rows, some of which another list counts',
    file: 'src/ledger/coverage-store.ts',
    find: 'if (guests.length > 0) return [];',
    put: 'if (guests.length < 0) return [];',
    caughtBy: {
      file: 'test/ledger/coverage-store.test.ts',
      name: 'beside a row that another list counts no day is said to be equal, nor to differ',
    },
  },
  {
    id: 'zero-behind-the-end',
    promise: 'True',
    wrong: 'the total of 0 of an empty page behind the end counts as the last one of the scan',
    file: 'src/sync/decide-scan-step.ts',
    find: 'const lastTotal = isTotalTold(facts, true) ? facts.total : fallenTo;',
    put: 'const lastTotal = facts.total ?? fallenTo;',
    caughtBy: named(
      'a total of 0 behind the end makes no list one that shows its rows in another order each time',
    ),
  },
  {
    id: 'text-of-a-fault',
    promise: 'Nothing is lost',
    wrong:
      'a row whose answer reads like that of a bad row is a bad row, without being asked for again',
    file: 'src/sync/divide-page.ts',
    find: 'if (text === null || bad.some((row) => rowTextOf(row.failure) === text)) return false;',
    put: 'if (text === null || bad.length < 0) return false;',
    caughtBy: {
      file: 'test/sync/unreadable-pages.test.ts',
      name: 'rows behind the same fault as a bad one are read once it has passed',
    },
  },
  {
    id: 'scan-by-a-capped-total',
    promise: 'Cheap doubts',
    wrong: 'a scan is thought to be as short as the service says that the list is',
    file: 'src/sync/doubt.ts',
    find: 'const pages = Math.max(lastPage(state), pagesFor(state.ledgerCount + state.guests, state));',
    put: 'const pages = Math.min(lastPage(state), pagesFor(state.ledgerCount + state.guests, state));',
    caughtBy: {
      file: 'test/sync/lying-costs.test.ts',
      name: '200 passes over 100 pages cost at most twice those of an honest service: %s',
    },
  },
];
