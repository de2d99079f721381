import type { PlantedBug } from './planted-bug.ts';

const readList = 'test/sync/read-list.test.ts';
const moving =
  'a row listed during the whole of a pass is in the ledger after it, whatever was inserted, wherever';
const troubled =
  'kills, changing page sizes and lagging totals at any step: it ends complete and proven';

/** Mistakes in reading a moving list. */
export const readingBugs: PlantedBug[] = [
  {
    id: 'stop-at-known-page',
    promise: 'Proportional',
    wrong:
      'a page without a new row is taken for the end of what is new, and the rest is searched for',
    file: 'src/sync/poll-list.ts',
    find: '  const isQuiet = quietPages > 0 ||',
    put: '  if (quietPages > 0) return true;\n  const isQuiet = quietPages > 0 ||',
    caughtBy: {
      file: readList,
      name: 'what a killed pass has left of the new rows is read by the next one, at their place',
    },
  },
  {
    id: 'count-before-walk',
    promise: 'Complete',
    wrong: 'equal counts are believed before the first walk has ended',
    file: 'src/sync/stream-port.ts',
    find: '      const row = { ...next, checkpoint, doubt: doubtOf(next), hasWalked };',
    put: '      const isBacked = next.serviceTotal !== null;\n      const row = { ...next, isBacked, checkpoint, doubt: doubtOf(next), hasWalked };',
    caughtBy: {
      file: 'test/sync/sync-transactions.test.ts',
      name: 'counts that are equal prove nothing before the first walk has ended',
    },
  },
  {
    id: 'read-descending',
    promise: 'Complete',
    wrong: 'a walk reads from the last page down, and rows that move up pass it by',
    file: 'src/sync/scan-list.ts',
    find: '  const facts = await session.read(walkBefore.nextPage, last, cursor.isFresh);',
    put: `  const { nextPage } = walkBefore;
  const from = nextPage === 1 ? 1 : Math.max(1, lastPage(session.state) + 2 - nextPage);
  const seen = await session.read(from, Math.max(from, last), cursor.isFresh);
  const facts = { ...seen, page: nextPage };`,
    caughtBy: { file: readList, name: moving },
  },
  {
    id: 'ahead-as-proof',
    promise: 'Proportional',
    wrong:
      'a page fetched ahead counts although the total has moved: it seems to have fallen, and the list is walked',
    file: 'src/sync/list-session.ts',
    find: 'isOvertaken(answer, state.serviceTotal, latestObservation)',
    put: 'isOvertaken(answer, null, latestObservation)',
    caughtBy: {
      file: readList,
      name: 'a page fetched ahead and answered too early is read again, not taken for a total that fell',
    },
  },
  {
    id: 'asked-page-size',
    promise: 'Complete',
    wrong: 'pages are planned with the size that was asked for, not the one that came',
    file: 'src/sync/list-state.ts',
    find: '    pageSize: facts.listed > 0 ? facts.size : state.pageSize,',
    put: '    pageSize: state.pageSize ?? facts.size,',
    caughtBy: { file: readList, name: troubled },
  },
  {
    id: 'stop-at-short-page',
    promise: 'Complete',
    wrong: 'a page with fewer rows than its size ends the walk, whatever the total says',
    file: 'src/sync/decide-scan-step.ts',
    find: "(isEndAtTotal(facts) ? { kind: 'end', isRepeated: false } : { kind: 'next' });",
    put: "(isEndAtTotal(facts) || !isFull(facts) ? { kind: 'end', isRepeated: false } : { kind: 'next' });",
    caughtBy: {
      file: readList,
      name: 'a page that is short in the middle of the list does not end it',
    },
  },
  {
    id: 'stop-at-empty-page',
    promise: 'Complete',
    wrong: 'one empty page ends the walk, whatever the total says',
    file: 'src/sync/decide-scan-step.ts',
    find: 'const mayGoOn = page < last && fingerprint !== previousFingerprint;',
    put: 'const mayGoOn = page < last && fingerprint === previousFingerprint;',
    caughtBy: {
      file: readList,
      name: 'an empty page in the middle of the list does not end it',
    },
  },
  {
    id: 'echo-ignored',
    promise: 'Complete',
    wrong: 'the page number in the answer is not looked at',
    file: 'src/sync/list-pages.ts',
    find: 'content.pageNo === page || content.listed === 0;',
    put: 'content.pageNo >= 0;',
    caughtBy: {
      file: 'test/sync/sync-transactions.test.ts',
      name: 'another page than the one that was asked for is not taken for it',
    },
  },
  {
    id: 'no-search',
    promise: 'Proportional',
    wrong: 'a late row is walked for instead of searched by rank',
    file: 'src/sync/search-list.ts',
    find: 'const searchedRowsMax = 32;',
    put: 'const searchedRowsMax = 0;',
    caughtBy: {
      file: readList,
      name: 'a late row anywhere on an ordered list costs a search, not a walk',
    },
  },
  {
    id: 'one-reading-marks-gone',
    promise: 'Unlisted after two readings',
    wrong: 'a row is marked as gone after one reading of pages that move',
    file: 'src/sync/find-vanished.ts',
    find: 'if (!isSamePicture(pages, await collect(session, range))) return 0;',
    put: 'if (!isSamePicture(pages, await collect(session, range)) && pages.length === 0) return 0;',
    caughtBy: {
      file: readList,
      name: 'pages that moved between two readings mark no row as gone',
    },
  },
  {
    id: 'audit-stands-still',
    promise: 'Late changes are found',
    wrong: 'every audit reads the days again that were verified last',
    file: 'src/sync/plan-audit.ts',
    find: '(a, b) => (a.verifiedAt ?? 0) - (b.verifiedAt ?? 0) || b.day - a.day,',
    put: '(a, b) => (b.verifiedAt ?? 0) - (a.verifiedAt ?? 0) || b.day - a.day,',
    caughtBy: {
      file: 'test/sync/audit-history.test.ts',
      name: 'the audit comes by every day within a cycle, by the last one every hour, and not before',
    },
  },
  {
    id: 'verify-skips-details',
    promise: 'Late changes are found',
    wrong: 'verify fetches details only when it repairs, and else says that all is well',
    file: 'src/sync/verify-transactions.ts',
    find: 'if (altered.length > 0) {',
    put: 'if (isRepair && altered.length > 0) {',
    caughtBy: {
      file: 'test/sync/verify-ledger.test.ts',
      name: 'what somebody wrote into fields that only a detail shows, or into an open row, is named and mended',
    },
  },
  {
    id: 'checkpoint-overtakes',
    promise: 'Complete',
    wrong: 'the batches of a walk are written side by side, not one after the other',
    file: 'src/sync/scan-list.ts',
    find: 'writing = quietly(writing.then(write));',
    put: 'writing = quietly(write());',
    caughtBy: {
      file: 'test/sync/sync-transactions.test.ts',
      name: 'the checkpoint of a walk never runs ahead of the rows that are stored',
    },
  },
  {
    id: 'checkpoint-of-later-pages',
    promise: 'Complete',
    wrong:
      'the checkpoint holds how far the walk has come when it is written, not what its batch covers',
    file: 'src/sync/list-session.ts',
    find: '        const next = withCheckpoint(prepared, { differingDays, isTotalOlder: isOlder });\n',
    put: '        const next = withCheckpoint(state, { differingDays, isTotalOlder: isOlder });\n',
    caughtBy: {
      file: readList,
      name: 'a checkpoint covers what its own batch covers, however far the scan has come when it is written',
    },
  },
  {
    id: 'checkpoint-apart',
    promise: 'Convergent',
    wrong: 'the rows of a batch are committed before the checkpoint, in a transaction of their own',
    file: 'src/sync/store-batch.ts',
    find: '        return { ...found, ...(await save(db, afterFinding(found))) };\n      });',
    put: '        return found;\n      }).then(async (found) => ({ ...found, ...(await save(ledger.db, afterFinding(found))) }));',
    caughtBy: {
      file: 'test/sync/sync-transactions.test.ts',
      name: 'rows and checkpoint are written together or not at all',
    },
  },
  {
    id: 'fall-forgotten',
    promise: 'True',
    wrong: 'a total that fell and came back is taken for one that never moved',
    file: 'src/sync/list-state.ts',
    find: 'const fallen = checkpoint.fallen + fall;',
    put: 'const fallen = checkpoint.fallen;',
    caughtBy: {
      file: readList,
      name: 'never claims completeness while a row is missing, even when rows are removed',
    },
  },
  {
    id: 'doubts-without-bound',
    promise: 'Cheap doubts',
    wrong: 'what doubts have cost is not counted',
    file: 'src/sync/doubt.ts',
    find: 'return requests <= doubtShare * ordinary - state.checkpoint.spentRequests;',
    put: 'return requests <= doubtShare * ordinary;',
    caughtBy: {
      file: readList,
      name: 'a total that is wrong in another way each time costs at most as much again as one that is right',
    },
  },
  {
    id: 'differing-day-marked',
    promise: 'Verified days',
    wrong: 'a day whose rows differ from those that were read is marked as verified',
    file: 'src/ledger/coverage-store.ts',
    find: 'set verified_at = case when x.is_equal then now() end',
    put: 'set verified_at = now()',
    caughtBy: {
      file: 'test/ledger/coverage-store.test.ts',
      name: 'a day is verified where as many rows were read as the ledger lists, and named where not',
    },
  },
];
