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
    promise: 'Complete',
    wrong: 'a page without a new row is taken for the end of what is new',
    file: 'src/sync/poll-list.ts',
    find: "if (missing(memory) === 0) return 'settled';",
    put: "if (missing(memory) === 0 || inserted === 0) return 'settled';",
    caughtBy: { file: readList, name: troubled },
  },
  {
    id: 'count-before-walk',
    promise: 'Complete',
    wrong: 'equal counts are believed before the first walk has ended',
    file: 'src/sync/stream-port.ts',
    find: 'const isVouched = current.checkpoint.gap !== null;',
    put: 'const isVouched = current.serviceTotal !== null;',
    caughtBy: {
      file: 'test/sync/sync-transactions.test.ts',
      name: 'counts that are equal prove nothing before the first walk has ended',
    },
  },
  {
    id: 'read-descending',
    promise: 'Complete',
    wrong: 'a walk reads from the last page down, and rows that move up pass it by',
    file: 'src/sync/walk-list.ts',
    find: 'const facts = await reader.read(walk.nextPage, upTo, cursor.isFresh);',
    put: `const from = walk.nextPage === 1 ? 1 : Math.max(1, last + 2 - walk.nextPage);
  const read = await reader.read(from, Math.min(upTo, from), cursor.isFresh);
  const facts = { ...read, page: walk.nextPage };`,
    caughtBy: { file: readList, name: moving },
  },
  {
    id: 'ahead-as-proof',
    promise: 'Complete',
    wrong: 'pages fetched ahead count although the totals between them have moved',
    file: 'src/sync/read-list.ts',
    find: 'isOvertaken(answer, memory.serviceTotal, latestObservation)',
    put: 'isOvertaken(answer, null, latestObservation)',
    caughtBy: {
      file: readList,
      name: 'a page fetched ahead and answered before the page in front of it proves nothing',
    },
  },
  {
    id: 'asked-page-size',
    promise: 'Complete',
    wrong: 'pages are planned with the size that was asked for, not the one that came',
    file: 'src/sync/list-memory.ts',
    find: 'if (facts.listed > 0) memory.pageSize = facts.size;',
    put: 'memory.pageSize ??= facts.size;',
    caughtBy: { file: readList, name: troubled },
  },
  {
    id: 'stop-at-short-page',
    promise: 'Complete',
    wrong: 'a page with fewer rows than its size ends the walk, whatever the total says',
    file: 'src/sync/walk-list.ts',
    find: "(facts.page >= last && !isFull(facts) ? { kind: 'end' } : { kind: 'next' })",
    put: "(isFull(facts) ? { kind: 'next' } : { kind: 'end' })",
    caughtBy: {
      file: readList,
      name: 'a page that is short in the middle of the list does not end it',
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
    promise: 'Complete',
    wrong: 'a row is marked as gone after one reading of pages that move',
    file: 'src/sync/find-vanished.ts',
    find: 'if (!isSamePicture(pages, await collect(reader, range))) return 0;',
    put: `await collect(reader, range);
  if (!isSamePicture(pages, pages)) return 0;`,
    caughtBy: {
      file: readList,
      name: 'pages that moved between two readings mark no row as gone',
    },
  },
  {
    id: 'audit-stands-still',
    promise: 'Late changes are found',
    wrong: 'every audit begins at the first page again',
    file: 'src/sync/audit-history.ts',
    find: 'memory.checkpoint.auditPage = nextAuditPage ?? memory.checkpoint.auditPage ?? 1;',
    put: 'memory.checkpoint.auditPage = Math.min(nextAuditPage ?? 1, 1);',
    caughtBy: {
      file: 'test/sync/audit-history.test.ts',
      name: 'a final row that changes months later is found within one cycle, logged, and its detail is fetched again',
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
    id: 'checkpoint-first',
    promise: 'Complete',
    wrong: 'the checkpoint and the count are written before the rows',
    file: 'src/sync/stream-port.ts',
    find: `        const counts = await storeRows(db);
        await storeRejects(db, [...rejects, ...refused]);
        return { ...counts, ledgerCount: await save(db) };`,
    put: `        const ledgerCount = await save(db);
        const counts = await storeRows(db);
        await storeRejects(db, [...rejects, ...refused]);
        return { ...counts, ledgerCount };`,
    caughtBy: {
      file: 'test/sync/sync-transactions.test.ts',
      name: 'new rows of a list that is %s cost their pages and one more',
    },
  },
  {
    id: 'checkpoint-overtakes',
    promise: 'Complete',
    wrong: 'the batches of a walk are written side by side, not one after the other',
    file: 'src/sync/walk-list.ts',
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
    file: 'src/sync/stream-port.ts',
    find: `    const row = { ...structuredClone(current), isVouched, hasWalked };
    return (db) => saveCheckpoint(db, owner, stream.name, row);`,
    put: `    return (db) => saveCheckpoint(db, owner, stream.name, { ...current, isVouched, hasWalked });`,
    caughtBy: {
      file: 'test/sync/sync-transactions.test.ts',
      name: 'the checkpoint of a walk never runs ahead of the rows that are stored',
    },
  },
  {
    id: 'checkpoint-apart',
    promise: 'Convergent',
    wrong: 'the rows of a batch are committed before the checkpoint, in a transaction of their own',
    file: 'src/sync/stream-port.ts',
    find: `        await storeRejects(db, [...rejects, ...refused]);
        return { ...counts, ledgerCount: await save(db) };
      });`,
    put: `        await storeRejects(db, [...rejects, ...refused]);
        return counts;
      }).then(async (counts) => ({ ...counts, ledgerCount: await save(ledger.db) }));`,
    caughtBy: {
      file: 'test/sync/sync-transactions.test.ts',
      name: 'rows and checkpoint are written together or not at all',
    },
  },
];
