import type { PlantedBug } from './planted-bug.ts';

const moving =
  'a row listed during the whole of a pass is in the ledger after it, whatever was inserted, wherever';
const troubled =
  'kills, changing page sizes and lagging totals at any step: it ends complete and proven';

/** Mistakes in reading a moving list. */
export const readingBugs: PlantedBug[] = [
  {
    id: 'look-hides-news',
    promise: 'Complete',
    wrong:
      'a look beside another pass stores a page of new rows alone, and the next pass stops there',
    in: 'lookBeside',
    find: '!(await hasRow(ledger.db, stream.name, stream.keyOf(last)))',
    put: '(await hasRow(ledger.db, stream.name, stream.keyOf(last))) === null',
    caughtBy:
      'a first page of new rows alone is left to the next pass, which would take it for the last one of them',
  },
  {
    id: 'look-proves-hole',
    promise: 'True',
    wrong:
      'a look beside another pass stores new rows while others are missing, and the counts become equal',
    in: 'lookBeside',
    find: '!(await saveEvenTotal(db, stream.name, reported))',
    put: '(await saveEvenTotal(db, stream.name, reported)) === null',
    caughtBy:
      'a new row beside one that is missing further back is left to the next pass: equal counts would prove a list that lacks a row',
  },
  {
    id: 'divides-without-end',
    promise: 'Cheap doubts',
    wrong: 'a page of which no row can be read is divided down to each of its rows',
    in: 'confirm',
    find: 'if (bad.length === badAtStart && !hasRows(division) && !(await isSomeRowReadable(division)))',
    put: 'if (bad.length === 0 && !hasRows(division) && !(await isSomeRowReadable(division)))',
    caughtBy: 'a short list of which no row can be read is given up after a few rows',
  },
  {
    id: 'stop-at-known-page',
    promise: 'Proportional',
    wrong:
      'a page without a new row is taken for the end of what is new, and the rest is searched for',
    in: 'isHeadPassed',
    find: 'const isQuiet =',
    put: `if (quietPages > 0) return true;
  const isQuiet =`,
    caughtBy: 'what a killed pass has left of the new rows is read by the next one, at their place',
  },
  {
    id: 'count-before-walk',
    promise: 'Complete',
    wrong: 'equal counts are believed before the first walk has ended',
    in: 'createSaves',
    find: 'const row = { ...state,',
    put: 'const row = { ...state, isBacked: state.serviceTotal !== null,',
    caughtBy: 'counts that are equal prove nothing before the first walk has ended',
  },
  {
    id: 'older-total-proves',
    promise: 'True',
    wrong:
      'the total of a first page stored beside a pass is believed although a later or higher one is stored',
    in: 'saveEvenTotal',
    find: `\${isLater} and \${reported} >= coalesce(service_total, 0)
                  and`,
    put: '',
    caughtBy: 'a total beside a pass that is older than the stored one proves nothing',
  },
  {
    id: 'unstored-rows-vanish',
    promise: 'Complete',
    wrong: 'rows on pages that a scan reads and does not store count as not shown',
    in: 'isNotedWhole',
    find: 'const shown = session.takeUnstoredKeys();',
    put: 'const shown = new Set<string>();',
    caughtBy:
      'a row that a page behind the seeming end has shown is not marked as gone by the scan that read it, nor by the next one',
  },
  {
    id: 'fall-beside-unnoticed',
    promise: 'True',
    wrong: 'a fall of the total between the answers of two processes is not counted',
    in: 'afterTotalBeside',
    find: 'fallen: state.checkpoint.fallen + fall',
    put: 'fallen: state.checkpoint.fallen + 0 * fall',
    caughtBy:
      'totals of two processes are taken in the order of their answers: an older one, stored later, hides no fall of the list',
  },
  {
    id: 'later-total-counts-as-polled',
    promise: 'Complete',
    wrong:
      'a total that a search has shown counts as the one of the last poll: rows that it counts are not read',
    in: 'afterPass',
    find: `lastSeen: { total: polledTotal,`,
    put: `lastSeen: { total: polledTotal === null ? null : state.serviceTotal,`,
    caughtBy:
      'rows that arrive while a doubt is examined are read by the next pass, whatever is still in doubt',
  },
  {
    id: 'search-in-early-passes-only',
    promise: 'Proportional',
    wrong:
      'a missing row is searched only in the first passes, which are over before the search is due',
    in: 'search',
    find: `checkpoint.mismatch?.isSearched && effort.isBounded`,
    put: `checkpoint.mismatch!.passes > effort.passesMin && effort.isBounded`,
    caughtBy: 'a late row is searched however soon one pass follows another, once for all of them',
  },
  {
    id: 'total-below-its-page',
    promise: 'True',
    wrong: 'a total is believed that counts fewer rows than its own page shows',
    in: 'isOlderTotal',
    find: `const counted = total ?? state.serviceTotal;`,
    put: `const counted = total === null ? state.serviceTotal : null;`,
    caughtBy:
      'a page that reaches beyond its total proves nothing by it: a late row may be missing behind equal counts',
  },
  {
    id: 'surplus-of-a-low-total',
    promise: 'Unlisted after two readings',
    wrong: 'rows are marked as gone by a total that does not count all rows of the list',
    in: 'unlistVanished',
    find: `if (session.state.checkpoint.isTotalOlder) return 0;`,
    put: `if (session.state.checkpoint.isTotalOlder && rowsMax < 0) return 0;`,
    caughtBy:
      'a total below the place of a row shows no surplus: no row is marked as gone by it, in a list whose coarse times hide that it has no order',
  },
  {
    id: 'surplus-of-a-low-total-in-scans',
    promise: 'Unlisted after two readings',
    wrong:
      'scans with short pages mark rows as gone by a total that does not count all rows of the list',
    in: 'rowsMax',
    find: `return state.checkpoint.isTotalOlder ? 0 : surplus;`,
    put: `return surplus;`,
    caughtBy:
      'a total below the place of a row shows no surplus to scans with short pages: they mark no listed row as gone',
  },
  {
    id: 'standing-low-total-unscanned',
    promise: 'Complete',
    wrong:
      'a total that seems too low, as pages are smaller than they say, takes the proof away for ever',
    in: 'isScanDue',
    find: `isTotalOlder && isEqual`,
    put: `isTotalOlder && !isEqual`,
    caughtBy:
      'pages that are smaller than they say reach beyond the total only in seeming: a scan shows their size, and the list is proven',
  },
  {
    id: 'smaller-page-size-ignored',
    promise: 'Pages',
    wrong: 'a smaller WALLET_PAGE_SIZE has no effect on a list that was read before',
    in: 'stateOf',
    find: `Math.min(kept.requestedPageSize, settings.pageSize)`,
    put: `kept.requestedPageSize`,
    caughtBy:
      'a smaller configured size is requested from the next pass on, and a larger one again after it',
  },
  {
    id: 'total-of-others-lost',
    promise: 'True',
    wrong: 'a pass stores its total over that of rows that were stored beside it',
    in: 'saveStream',
    find: `and before.total_observation = \${known}`,
    put: `and (true or before.total_observation = \${known})`,
    caughtBy: 'a pass that does not know the total stored beside it stores nothing until it does',
  },
  {
    id: 'fall-beside-is-late',
    promise: 'True',
    wrong: 'a fall between a pass’s total and the one stored beside it waits for the next write',
    in: 'createSaves',
    find: `const reported = afterTotalBeside(next, before);`,
    put: `const reported = { ...afterTotalBeside(next, before), checkpoint: next.checkpoint };`,
    caughtBy:
      'a row counted by an earlier request and not by the look that was stored meanwhile is a doubt at once',
  },
  {
    id: 'fall-beside-is-lost',
    promise: 'True',
    wrong: 'a write that was prepared before does not know the total stored beside the pass',
    in: 'withTotal',
    find: `return isLater ? afterTotalBeside(prepared, beside) : prepared;`,
    put: `return isLater ? prepared : prepared;`,
    caughtBy:
      'a write that was prepared before a look beside the pass was known takes over its total, and the fall to it',
  },
  {
    id: 'read-descending',
    promise: 'Complete',
    wrong: 'a walk reads from the last page down, and rows that move up pass it by',
    in: 'readNext',
    find: 'const read = session.read(walk.nextPage, upTo(session.state, walk), isFresh)',
    put: `const { nextPage: page } = walk;
  const last = upTo(session.state, walk);
  const from = page === 1 ? 1 : Math.max(1, last + 2 - page);
  const seen = session.read(from, Math.max(from, last), isFresh);
  const read = seen.then((facts) => ({ ...facts, page }))`,
    caughtBy: moving,
  },
  {
    id: 'ahead-as-proof',
    promise: 'Proportional',
    wrong:
      'a page fetched ahead counts although the total has moved: it seems to have fallen, and the list is walked',
    in: 'Session',
    find: 'isOvertaken(answer, this.#state.serviceTotal,',
    put: 'isOvertaken(answer, null,',
    caughtBy:
      'a page fetched ahead and answered too early is read again, not taken for a total that fell',
  },
  {
    id: 'asked-page-size',
    promise: 'Complete',
    wrong: 'pages are planned with the size that was asked for, not the one that came',
    in: 'afterPage',
    find: 'facts.listed > 0 ? facts.size : state.pageSize',
    put: 'state.pageSize ?? facts.size',
    caughtBy: troubled,
  },
  {
    id: 'stop-at-short-page',
    promise: 'Complete',
    wrong: 'a page with fewer rows than its size ends the walk, whatever the total says',
    in: 'decideScanStep',
    find: 'isEndAtTotal(facts)',
    put: 'isEndAtTotal(facts) || !isFull(facts)',
    caughtBy: 'a page that is short in the middle of the list does not end it',
  },
  {
    id: 'stop-at-empty-page',
    promise: 'Complete',
    wrong: 'one empty page ends the walk, whatever the total says',
    in: 'afterEmptyPage',
    find: '!==',
    put: '===',
    caughtBy: 'an empty page in the middle of the list does not end it',
  },
  {
    id: 'echo-ignored',
    promise: 'Complete',
    wrong: 'the page number in the answer is not looked at',
    in: 'fetchPage',
    find: 'content.pageNo === page || content.listed === 0',
    put: 'content.pageNo >= 0',
    caughtBy: 'another page than the one that was asked for is not taken for it',
  },
  {
    id: 'no-search',
    promise: 'Proportional',
    wrong: 'a late row is walked for instead of searched by rank',
    in: 'searchedRowsMax',
    find: '32',
    put: '0',
    caughtBy: 'a late row anywhere on an ordered list costs a search, not a walk',
  },
  {
    id: 'one-reading-marks-gone',
    promise: 'Unlisted after two readings',
    wrong: 'a row is marked as gone after one reading of pages that move',
    in: 'unlistVanished',
    find: 'isSamePicture(pages, await collect(session, range))',
    put: 'isSamePicture(pages, await collect(session, range)) && pages.length === 0',
    also: [
      {
        in: 'areSeamsTight',
        find: 'isSamePicture(pair, await collect(session, range))',
        put: 'isSamePicture(pair, await collect(session, range)) && pair.length === 0',
      },
    ],
    caughtBy: 'pages that moved between two readings mark no row as unlisted',
  },
  {
    id: 'audit-stands-still',
    promise: 'Late changes are found',
    wrong: 'every audit reads the days again that were verified last',
    in: 'planAudit',
    find: '(a.verifiedAt ?? 0) - (b.verifiedAt ?? 0)',
    put: '(b.verifiedAt ?? 0) - (a.verifiedAt ?? 0)',
    caughtBy:
      'the audit comes by every day within a cycle, by the last one every hour, and not before',
  },
  {
    id: 'verify-skips-details',
    promise: 'Late changes are found',
    wrong: 'verify fetches details only when it repairs, and else says that all is well',
    in: 'compareByDetail',
    find: 'asked.size === 0',
    put: '!comparing.isRepair || asked.size === 0',
    caughtBy:
      'a manual change of fields that only a detail shows, or of an open row, is named and corrected',
  },
  {
    id: 'verify-hides-missing',
    promise: 'Late changes are found',
    wrong: 'verify takes any missing row for an arrival if the total has grown meanwhile',
    in: 'withoutArrivals',
    find: '> newest',
    put: '> 0',
    caughtBy:
      'of the rows that appear while the list is read, those that provably arrived since are left out (%s)',
  },
  {
    id: 'verify-trusts-times',
    promise: 'Late changes are found',
    wrong: 'verify takes a missing row for an arrival by its time alone, without the total',
    in: 'withoutArrivals',
    find: 'arrived > drift.arrivals',
    put: 'arrived > drift.missing.length',
    caughtBy: 'a row whose time has changed is no arrival',
  },
  {
    id: 'verify-passes-open-rows',
    promise: 'Late changes are found',
    wrong: 'verify does not compare the state of a row that is not final',
    in: 'compareListed',
    find: 'not t.is_unsure',
    put: 't.is_final',
    caughtBy:
      'a row that is not final is named with all fields in which it differs, and repaired with its detail',
  },
  {
    id: 'verify-skips-unread-details',
    promise: 'Late changes are found',
    wrong: 'verify does not read a detail again that could not be read',
    in: 'compareListed',
    find: 'or t.is_unread ',
    put: '',
    caughtBy:
      'verify reads a detail again that could not be read, and its repair settles the reject',
  },
  {
    id: 'verify-alarms-early',
    promise: 'Late changes are found',
    wrong: 'verify reports a row that a daemon has heard of later than the page',
    in: 'stillDifferent',
    find: 'later.has(orderNo)',
    put: '!later.has(orderNo)',
    caughtBy:
      'a row that a daemon brings up to date while verify reads is no drift, whichever of the two heard first',
  },
  {
    id: 'verify-leaves-doubt',
    promise: 'Cheap doubts',
    wrong: 'a repair does not use its own scan as a proof, and another scan has to follow',
    in: 'settleProof',
    find: 'scan !== null && isAlone',
    put: 'scan !== null && !isAlone',
    caughtBy:
      'a repair of rows that have vanished leaves the proof that its reading gives, without another scan',
  },
  {
    id: 'verify-proves-uncounted',
    promise: 'True',
    wrong: 'a verification backs counts that its own reading contradicts',
    in: 'provingScan',
    find: 'isCounted && isHeld',
    put: '(isCounted || isHeld)',
    caughtBy: 'a total that is wrong by %i lets a verification prove nothing',
  },
  {
    id: 'failure-discards-pages',
    promise: 'Complete',
    wrong: 'a page that cannot be read discards the pages that were read before it',
    in: 'scanList',
    find: 'cursor.batch.length > 0',
    put: 'cursor.batch.length > 2_000',
    caughtBy: 'a page that cannot be read leaves what the pages before it brought (total %s)',
  },
  {
    id: 'checkpoint-overtakes',
    promise: 'Complete',
    wrong: 'the batches of a walk are written side by side, not one after the other',
    in: 'createBatchWriter',
    find: 'writing.then(write)',
    put: 'write()',
    caughtBy: 'the checkpoint of a walk never runs ahead of the rows that are stored',
  },
  {
    id: 'checkpoint-of-later-pages',
    promise: 'Complete',
    wrong:
      'the checkpoint holds how far the walk has come when it is written, not what its batch covers',
    in: 'Session',
    find: 'withTotal(prepared,',
    put: 'withTotal(this.#state,',
    caughtBy:
      'a checkpoint covers what its own batch covers, however far the scan has come when it is written',
  },
  {
    id: 'checkpoint-apart',
    promise: 'Convergent',
    wrong: 'the rows of a batch are committed before the checkpoint, in a transaction of their own',
    in: 'prepareBatch',
    find: `return { ...found, ...(await save(db, afterFinding(found))) };
      }, findingByKey);`,
    put: `return found;
      }, findingByKey).then(async (found) => ({ ...found, ...(await save(ledger.db, afterFinding(found))) }));`,
    caughtBy: 'rows and checkpoint are written together or not at all',
  },
  {
    id: 'fall-forgotten',
    promise: 'True',
    wrong: 'a total that fell and came back is taken for one that never moved',
    in: 'afterPage',
    find: '+ fall',
    put: '+ 0 * fall',
    caughtBy: 'never claims completeness while a row is missing, even when rows are removed',
  },
  {
    id: 'doubts-without-bound',
    promise: 'Cheap doubts',
    wrong: 'what doubts have cost is not counted',
    in: 'isAffordable',
    find: '- state.checkpoint.spentRequests',
    put: '',
    caughtBy:
      'a total that is wrong in another way each time costs at most as much again as one that is right',
  },
  {
    id: 'differing-day-marked',
    promise: 'Verified days',
    wrong: 'a day whose rows differ from those that were read is marked as verified',
    in: 'compareDays',
    find: 'x.is_equal and not ${isUnstored(unstored)}',
    put: 'not ${isUnstored(unstored)}',
    caughtBy:
      'a day is verified where as many rows were read as the ledger lists, and named where not',
  },
  {
    id: 'waits-use-up-the-slice',
    promise: 'Cheap doubts',
    wrong:
      'the waits before a second look count as work of the slice, and none is left for the scan',
    in: 'createSlice',
    find: 'endsAt += performance.now() - beganAt',
    put: 'endsAt += 0 * beganAt',
    caughtBy: 'a wait uses up nothing of a slice',
  },
  {
    id: 'scans-of-each-slice',
    promise: 'Cheap doubts',
    wrong:
      'each slice of a pass may run all the scans of a pass, so that a short page keeps it from ending',
    in: 'syncStream',
    find: '{ ...pass, onProgress, scans }',
    put: '{ ...pass, onProgress, scans: scans.begun() < 0 ? scans : createPassScans() }',
    caughtBy: '[P7] a page that stays short ends a backfill whose slices are %s, without a proof',
  },
  {
    id: 'search-without-a-cost',
    promise: 'Cheap doubts',
    wrong: 'a search that found nothing costs nothing',
    in: 'search',
    find: 'held() !== heldBefore',
    put: 'heldBefore >= 0',
    caughtBy:
      'a search whose answers count fewer rows, and which finds none, has its cost all the same',
  },
  {
    id: 'gap-behind-the-first-page',
    promise: 'Complete',
    wrong: 'without a total, the first page of a pass that failed behind it counts as known',
    in: 'pollHeadOnce',
    find: 'isAfterEnd && first.fingerprint === known',
    put: 'first.fingerprint === known',
    caughtBy:
      'without a total, a pass that failed behind its first page leaves no gap to the next one, which sees %s',
  },
  {
    id: 'refusal-is-a-fault',
    promise: 'Complete',
    wrong: 'a refused page that a wrong total counts fails every pass',
    in: 'readOrEnd',
    find: 'page === 1 || !isRefusal(error)',
    put: 'page > 0 || !isRefusal(error)',
    caughtBy:
      '[P12] where pages behind the end are refused, a total off by %s neither stops the reading of %i rows nor hides news: %s',
  },
  {
    id: 'empty-since-for-ever',
    promise: 'Complete',
    wrong: 'only page 1 shows that a list is not empty any more, which no oldest-first pass reads',
    in: 'createRefusal',
    find: '(isEmpty && page.page > 1)',
    put: 'page.page > 1',
    caughtBy:
      'a list that was empty once is no less of a fault when it is empty again a day later, oldest-first too',
  },
  {
    id: 'size-of-empty-page',
    promise: 'Complete',
    wrong: 'an empty page whose size is not said changes the size of the pages before it',
    in: 'sizeOf',
    find: 'known ?? asked',
    put: 'asked',
    caughtBy:
      'a list on one page whose size is not said is proven with few requests, where behind its end there is %s',
  },
  {
    id: 'first-rows-by-their-page',
    promise: 'Complete',
    wrong: 'the total of the first rows of an empty list proves that one page holds them all',
    in: 'mayGoOn',
    find: 'wasEmpty && page === 1 && listed > 0',
    put: 'false && wasEmpty && page === 1 && listed > 0',
    caughtBy:
      'a total that counts the rows of its page hides none of the first rows of an empty list: %s, pages of 50 said to be of %i',
  },
  {
    id: 'scan-ends-with-its-page',
    promise: 'Complete',
    wrong: 'a total below the rows that the ledger holds ends a scan at a page that is not full',
    in: 'isFollowed',
    find: '!(isFirst || isShort)',
    put: '!(isFirst && isShort)',
    caughtBy:
      'a total that counts the rows of its page proves no first page that is shorter than it says',
  },
  {
    id: 'steps-back-for-one',
    promise: 'Cheap doubts',
    wrong: 'a step back over several pages, as a changing total asks for, costs no more than one',
    in: 'pagesBack',
    find: 'Math.max(1, page - step.toPage)',
    put: 'Math.min(1, page - step.toPage + 1)',
    caughtBy: '200 passes over 100 pages cost at most twice those of an honest service: %s',
  },
  {
    id: 'empty-list-believed-at-once',
    promise: 'Unlisted after two readings',
    wrong:
      'a list that was empty once, long ago, and had rows since is believed to be empty at once',
    in: 'createRefusal',
    find: 'isEmpty !== isNotedEmpty',
    put: 'isEmpty && !isNotedEmpty',
    caughtBy:
      'a list that is empty when it is read again after a long time is no less of a fault, and one that had rows between',
  },
  {
    id: 'coins-gone-at-once',
    promise: 'Unlisted after two readings',
    wrong: 'coins that are suddenly missing altogether are no longer listed at once',
    in: 'syncCoins',
    find: 'records.length + rejects.length === 0',
    put: 'records.length + rejects.length < 0',
    caughtBy:
      'a list of %s that is suddenly empty is most likely a fault: it unlists none before it has been empty for a while',
  },
];
