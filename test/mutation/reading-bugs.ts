import type { PlantedBug } from './planted-bug.ts';

const moving =
  'a row that is listed during a whole pass is in the ledger afterwards, wherever other rows were inserted';
const troubled =
  'after kills, page size changes and lagging totals at any step the list ends complete and proven';

/** Mistakes in reading a moving list. */
export const readingBugs: PlantedBug[] = [
  {
    id: 'look-hides-news',
    promise: 'Complete',
    wrong:
      'a head read during another pass stores a page of only new rows, and the next pass stops there',
    in: 'lookBeside',
    find: '!(await hasRow(ledger.db, stream.name, stream.keyOf(last)))',
    put: '(await hasRow(ledger.db, stream.name, stream.keyOf(last))) === null',
    caughtBy:
      'a first page with only new rows is left to the next pass, for which it would look like the last new page',
  },
  {
    id: 'look-proves-hole',
    promise: 'True',
    wrong:
      'a head read during another pass stores new rows while others are missing, and the counts become equal',
    in: 'lookBeside',
    find: '!(await saveEvenTotal(db, stream.name, reported))',
    put: '(await saveEvenTotal(db, stream.name, reported)) === null',
    caughtBy:
      'if another row is missing further back, a new row is left to the next pass, as equal counts would be a false proof',
  },
  {
    id: 'divides-without-end',
    promise: 'Cheap doubts',
    wrong: 'a page of which no row can be read is divided down to each of its rows',
    in: 'confirm',
    find: 'if (bad.length === badAtStart && !hasRows(division) && !(await isSomeRowReadable(division)))',
    put: 'if (bad.length === 0 && !hasRows(division) && !(await isSomeRowReadable(division)))',
    caughtBy: 'a short list without any readable row is given up after a few rows',
  },
  {
    id: 'stop-at-known-page',
    promise: 'Proportional',
    wrong:
      'a page without a new row is taken for the end of the new rows, and the rest is searched for',
    in: 'isHeadPassed',
    find: 'const isQuiet =',
    put: `if (quietPages > 0) return true;
  const isQuiet =`,
    caughtBy: 'the next pass reads the new rows that a killed pass left, at their place',
  },
  {
    id: 'count-before-walk',
    promise: 'Complete',
    wrong: 'equal counts are trusted before the first full scan has ended',
    in: 'createSaves',
    find: 'const row = { ...state,',
    put: 'const row = { ...state, isBacked: state.serviceTotal !== null,',
    caughtBy: 'equal counts prove nothing before the first full scan has ended',
  },
  {
    id: 'older-total-proves',
    promise: 'True',
    wrong:
      'the total of a first page stored during a pass is trusted although a later or higher one is stored',
    in: 'saveEvenTotal',
    find: `\${isLater} and \${reported} >= coalesce(service_total, 0)
                  and`,
    put: '',
    caughtBy: 'a total of a concurrent pass that is older than the stored one proves nothing',
  },
  {
    id: 'unstored-rows-vanish',
    promise: 'Complete',
    wrong: 'rows on pages that a scan reads and does not store count as not shown',
    in: 'isNotedWhole',
    find: 'const shown = session.takeUnstoredKeys();',
    put: 'const shown = new Set<string>();',
    caughtBy:
      'a row on a page behind the apparent end is marked as unlisted neither by the scan that read the page nor by the next one',
  },
  {
    id: 'fall-beside-unnoticed',
    promise: 'True',
    wrong: 'a fall of the total between the answers of two processes is not counted',
    in: 'afterTotalBeside',
    find: 'fallen: state.checkpoint.fallen + fall',
    put: 'fallen: state.checkpoint.fallen + 0 * fall',
    caughtBy:
      'totals of two processes count in the order of their answers: an older one that is stored later hides no fall of the total',
  },
  {
    id: 'later-total-counts-as-polled',
    promise: 'Complete',
    wrong:
      'a total that a search has shown counts as that of the last poll: rows that it counts are not read',
    in: 'afterPass',
    find: `lastSeen: { total: polledTotal,`,
    put: `lastSeen: { total: polledTotal === null ? null : state.serviceTotal,`,
    caughtBy:
      'rows that arrive while a doubt is examined are read by the next pass, although the doubt may remain',
  },
  {
    id: 'search-in-early-passes-only',
    promise: 'Proportional',
    wrong:
      'a missing row is searched only in the first passes, which are over before the search is due',
    in: 'search',
    find: `checkpoint.mismatch?.isSearched && effort.isBounded`,
    put: `checkpoint.mismatch!.passes > effort.passesMin && effort.isBounded`,
    caughtBy:
      'late rows are found by one search for all of them, however soon one pass follows another',
  },
  {
    id: 'total-below-its-page',
    promise: 'True',
    wrong: 'a total is trusted that counts fewer rows than its own page shows',
    in: 'isOlderTotal',
    find: `const counted = total ?? state.serviceTotal;`,
    put: `const counted = total === null ? state.serviceTotal : null;`,
    caughtBy:
      'a page that reaches beyond its total does not prove the list: a late row may be missing behind equal counts',
  },
  {
    id: 'surplus-of-a-low-total',
    promise: 'Unlisted after two readings',
    wrong:
      'rows are marked as unlisted because of a total that does not count all rows of the list',
    in: 'unlistVanished',
    find: `if (session.state.checkpoint.isTotalOlder) return 0;`,
    put: `if (session.state.checkpoint.isTotalOlder && rowsMax < 0) return 0;`,
    caughtBy:
      'a total below the place of a row shows no surplus and marks no row as unlisted, in a list whose coarse times hide that it has no order',
  },
  {
    id: 'surplus-of-a-low-total-in-scans',
    promise: 'Unlisted after two readings',
    wrong:
      'scans with short pages mark rows as unlisted because of a total that does not count all rows of the list',
    in: 'rowsMax',
    find: `return state.checkpoint.isTotalOlder ? 0 : surplus;`,
    put: `return surplus;`,
    caughtBy:
      'a total below the place of a row shows no surplus to scans with short pages, which mark no listed row as unlisted',
  },
  {
    id: 'standing-low-total-unscanned',
    promise: 'Complete',
    wrong:
      'a total that seems too low because pages are smaller than claimed ends the proof for ever',
    in: 'isScanDue',
    find: `isTotalOlder && isEqual`,
    put: `isTotalOlder && !isEqual`,
    caughtBy:
      'pages that are smaller than they claim only seem to reach beyond the total: a scan shows their size, and the list is proven',
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
    wrong: 'a pass overwrites the total of rows that were stored concurrently',
    in: 'saveStream',
    find: `and before.total_observation = \${known}`,
    put: `and (true or before.total_observation = \${known})`,
    caughtBy:
      'a pass that does not know the total stored concurrently stores nothing until it does',
  },
  {
    id: 'fall-beside-is-late',
    promise: 'True',
    wrong:
      'a fall between the total of a pass and one stored concurrently waits for the next write',
    in: 'createSaves',
    find: `const reported = afterTotalBeside(next, before);`,
    put: `const reported = { ...afterTotalBeside(next, before), checkpoint: next.checkpoint };`,
    caughtBy:
      'a row that an earlier request counted and a later head read did not is a doubt at once',
  },
  {
    id: 'fall-beside-is-lost',
    promise: 'True',
    wrong: 'a write that was prepared earlier does not know the total stored during the pass',
    in: 'withTotal',
    find: `return isLater ? afterTotalBeside(prepared, beside) : prepared;`,
    put: `return isLater ? prepared : prepared;`,
    caughtBy:
      'a write that was prepared before a concurrent head read was known takes over its total, and the fall to it',
  },
  {
    id: 'read-descending',
    promise: 'Complete',
    wrong: 'a full scan reads from the last page to the first, and misses rows that move up',
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
      'a prefetched page counts although the total has changed: it seems to have fallen, and a full scan follows',
    in: 'Session',
    find: 'isOvertaken(answer, this.#state.serviceTotal,',
    put: 'isOvertaken(answer, null,',
    caughtBy:
      'a prefetched page that was answered too early is read again and not taken for a fallen total',
  },
  {
    id: 'asked-page-size',
    promise: 'Complete',
    wrong: 'pages are planned with the requested size, not the received one',
    in: 'afterPage',
    find: 'facts.listed > 0 ? facts.size : state.pageSize',
    put: 'state.pageSize ?? facts.size',
    caughtBy: troubled,
  },
  {
    id: 'stop-at-short-page',
    promise: 'Complete',
    wrong: 'a page with fewer rows than its size ends the scan, whatever the total is',
    in: 'decideScanStep',
    find: 'isEndAtTotal(facts)',
    put: 'isEndAtTotal(facts) || !isFull(facts)',
    caughtBy: 'a short page in the middle of a list does not end the list',
  },
  {
    id: 'stop-at-empty-page',
    promise: 'Complete',
    wrong: 'one empty page ends the scan, whatever the total is',
    in: 'afterEmptyPage',
    find: '!==',
    put: '===',
    caughtBy: 'an empty page in the middle of a list does not end the list',
  },
  {
    id: 'echo-ignored',
    promise: 'Complete',
    wrong: 'the page number in the answer is not checked',
    in: 'fetchPage',
    find: 'content.pageNo === page || content.listed === 0',
    put: 'content.pageNo >= 0',
    caughtBy:
      'an answer with another page than the requested one is not accepted as the requested page',
  },
  {
    id: 'no-search',
    promise: 'Proportional',
    wrong: 'a late row causes a full scan instead of a search by rank',
    in: 'searchedRowsMax',
    find: '32',
    put: '0',
    caughtBy: 'a late row anywhere on an ordered list costs a search, not a full scan',
  },
  {
    id: 'one-reading-marks-gone',
    promise: 'Unlisted after two readings',
    wrong: 'a row is marked as unlisted after one reading of moving pages',
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
    caughtBy: 'no row is marked as unlisted because pages moved between two readings',
  },
  {
    id: 'audit-stands-still',
    promise: 'Late changes are found',
    wrong: 'every audit reads the days again that were verified last',
    in: 'planAudit',
    find: '(a.verifiedAt ?? 0) - (b.verifiedAt ?? 0)',
    put: '(b.verifiedAt ?? 0) - (a.verifiedAt ?? 0)',
    caughtBy:
      'the audit reads every day within a cycle, the last day every hour, and none earlier than that',
  },
  {
    id: 'verify-skips-details',
    promise: 'Late changes are found',
    wrong: 'verify fetches details only for a repair, and otherwise reports no differences',
    in: 'compareByDetail',
    find: 'asked.size === 0',
    put: '!comparing.isRepair || asked.size === 0',
    caughtBy:
      'a manual change of a field of the detail or of an open row is reported and corrected',
  },
  {
    id: 'verify-hides-missing',
    promise: 'Late changes are found',
    wrong: 'verify takes any missing row for a new one if the total has grown meanwhile',
    in: 'withoutArrivals',
    find: '> newest',
    put: '> 0',
    caughtBy:
      'rows that appear while the list is read are left out if they provably arrived since (%s)',
  },
  {
    id: 'verify-trusts-times',
    promise: 'Late changes are found',
    wrong: 'verify takes a missing row for a new one by its time alone, without the total',
    in: 'withoutArrivals',
    find: 'arrived > drift.arrivals',
    put: 'arrived > drift.missing.length',
    caughtBy: 'a row whose time has changed does not count as newly arrived',
  },
  {
    id: 'verify-passes-open-rows',
    promise: 'Late changes are found',
    wrong: 'verify does not compare the state of a row that is not final',
    in: 'compareListed',
    find: 'not t.is_unsure',
    put: 't.is_final',
    caughtBy:
      'a row that is not final is reported with all differing fields, and repaired with its detail',
  },
  {
    id: 'verify-skips-unread-details',
    promise: 'Late changes are found',
    wrong: 'verify does not fetch a detail again that could not be read',
    in: 'compareListed',
    find: 'or t.is_unread ',
    put: '',
    caughtBy:
      'verify fetches a detail that could not be read again, and its repair resolves the reject',
  },
  {
    id: 'verify-alarms-early',
    promise: 'Late changes are found',
    wrong: 'verify reports a row that a daemon has read later than the page',
    in: 'stillDifferent',
    find: 'later.has(orderNo)',
    put: '!later.has(orderNo)',
    caughtBy:
      'a row that a daemon updates while verify reads is no drift, whichever of the two got its answer first',
  },
  {
    id: 'verify-leaves-doubt',
    promise: 'Cheap doubts',
    wrong: 'a repair does not use its own scan as a proof, and another scan has to follow',
    in: 'settleProof',
    find: 'scan !== null && isAlone',
    put: 'scan !== null && !isAlone',
    caughtBy:
      'a repair that marks vanished rows leaves the proof that its reading gives, without another scan',
  },
  {
    id: 'verify-proves-uncounted',
    promise: 'True',
    wrong: 'a verification backs counts that its own reading contradicts',
    in: 'provingScan',
    find: 'isCounted && isHeld',
    put: '(isCounted || isHeld)',
    caughtBy: 'a verification proves nothing if the total is wrong by %i',
  },
  {
    id: 'failure-discards-pages',
    promise: 'Complete',
    wrong: 'a page that cannot be read discards the pages that were read before it',
    in: 'scanList',
    find: 'cursor.batch.length > 0',
    put: 'cursor.batch.length > 2_000',
    caughtBy: 'a page that cannot be read does not undo the rows of earlier pages (total %s)',
  },
  {
    id: 'checkpoint-overtakes',
    promise: 'Complete',
    wrong: 'the batches of a full scan are written concurrently, not one after the other',
    in: 'createBatchWriter',
    find: 'writing.then(write)',
    put: 'write()',
    caughtBy: 'the checkpoint of a walk never runs ahead of the rows that are stored',
  },
  {
    id: 'checkpoint-of-later-pages',
    promise: 'Complete',
    wrong:
      'the checkpoint holds the progress of the scan when it is written, not that of its batch',
    in: 'Session',
    find: 'withTotal(prepared,',
    put: 'withTotal(this.#state,',
    caughtBy: 'a checkpoint covers only its own batch, however far the scan is when it is written',
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
    wrong: 'a total that fell and rose again counts as unchanged',
    in: 'afterPage',
    find: '+ fall',
    put: '+ 0 * fall',
    caughtBy: 'the list is never complete while a row is missing, even if rows are removed',
  },
  {
    id: 'doubts-without-bound',
    promise: 'Cheap doubts',
    wrong: 'the cost of examining doubts is not counted',
    in: 'isAffordable',
    find: '- state.checkpoint.spentRequests',
    put: '',
    caughtBy:
      'a total that is wrong in another way each time at most doubles the cost of a correct one',
  },
  {
    id: 'differing-day-marked',
    promise: 'Verified days',
    wrong: 'a day whose rows differ from those that were read is marked as verified',
    in: 'compareDays',
    find: 'x.is_equal and not ${isUnstored(unstored)}',
    put: 'not ${isUnstored(unstored)}',
    caughtBy:
      'a day is verified if the reading met as many rows as the ledger lists, and is reported otherwise',
  },
  {
    id: 'waits-use-up-the-slice',
    promise: 'Cheap doubts',
    wrong:
      'the waits before a second check count as work of the slice, and no time is left for the scan',
    in: 'createSlice',
    find: 'endsAt += performance.now() - beganAt',
    put: 'endsAt += 0 * beganAt',
    caughtBy: 'waiting does not count towards the duration of a slice',
  },
  {
    id: 'scans-of-each-slice',
    promise: 'Cheap doubts',
    wrong:
      'each slice may run all the scans of a pass, so that a short page keeps the pass from ending',
    in: 'syncStream',
    find: '{ ...pass, onProgress, scans }',
    put: '{ ...pass, onProgress, scans: scans.begun() < 0 ? scans : createPassScans() }',
    caughtBy: '[P7] a page that stays short ends a backfill whose slices are %s without a proof',
  },
  {
    id: 'search-without-a-cost',
    promise: 'Cheap doubts',
    wrong: 'a search that found nothing is charged nothing',
    in: 'search',
    find: 'held() !== heldBefore',
    put: 'heldBefore >= 0',
    caughtBy: 'a search is charged its cost also if its answers count fewer rows and it finds none',
  },
  {
    id: 'gap-behind-the-first-page',
    promise: 'Complete',
    wrong: 'without a total, the first page of a pass that failed behind it counts as known',
    in: 'pollHeadOnce',
    find: 'isAfterEnd && first.fingerprint === known',
    put: 'first.fingerprint === known',
    caughtBy:
      'without a total, a pass that failed behind its first page causes no gap in the next one, which sees %s',
  },
  {
    id: 'refusal-is-a-fault',
    promise: 'Complete',
    wrong: 'a refused page that a wrong total counts fails every pass',
    in: 'readOrEnd',
    find: 'page === 1 || !isRefusal(error)',
    put: 'page > 0 || !isRefusal(error)',
    caughtBy:
      '[P12] if pages behind the end are refused, a total off by %s neither stops the reading of %i rows nor hides news: %s',
  },
  {
    id: 'empty-since-for-ever',
    promise: 'Complete',
    wrong: 'only page 1 shows that a list is no longer empty, and no oldest-first pass reads it',
    in: 'createRefusal',
    find: '(isEmpty && page.page > 1)',
    put: 'page.page > 1',
    caughtBy:
      'a list that was empty once is treated as a fault when it is empty again a day later, also oldest-first',
  },
  {
    id: 'size-of-empty-page',
    promise: 'Complete',
    wrong: 'an empty page of unstated size changes the size of the pages before it',
    in: 'sizeOf',
    find: 'known ?? asked',
    put: 'asked',
    caughtBy:
      'a list with one page of unstated size is proven with few requests if the answer behind its end is %s',
  },
  {
    id: 'first-rows-by-their-page',
    promise: 'Complete',
    wrong: 'the total of the first rows of an empty list proves that one page holds them all',
    in: 'mayGoOn',
    find: 'wasEmpty && page === 1 && listed > 0',
    put: 'false && wasEmpty && page === 1 && listed > 0',
    caughtBy:
      'a total that counts only the rows of its page hides none of the first rows of an empty list: %s, pages of 50 claimed as %i',
  },
  {
    id: 'scan-ends-with-its-page',
    promise: 'Complete',
    wrong: 'a total below the rows that the ledger holds ends a scan at a page that is not full',
    in: 'isFollowed',
    find: '!(isFirst || isShort)',
    put: '!(isFirst && isShort)',
    caughtBy:
      'a total that counts only the rows of its page does not prove a first page that is shorter than it claims',
  },
  {
    id: 'steps-back-for-one',
    promise: 'Cheap doubts',
    wrong: 'a step back over several pages, as a changing total asks for, costs no more than one',
    in: 'pagesBack',
    find: 'Math.max(1, page - step.toPage)',
    put: 'Math.min(1, page - step.toPage + 1)',
    caughtBy: '200 passes over 100 pages cost at most twice as much as with an honest service: %s',
  },
  {
    id: 'empty-list-believed-at-once',
    promise: 'Unlisted after two readings',
    wrong:
      'a list that was empty once, long ago, and had rows since is trusted to be empty at once',
    in: 'createRefusal',
    find: 'isEmpty !== isNotedEmpty',
    put: 'isEmpty && !isNotedEmpty',
    caughtBy:
      'a list is treated as a fault if it is empty after a long pause, or after it had rows in between',
  },
  {
    id: 'coins-gone-at-once',
    promise: 'Unlisted after two readings',
    wrong: 'coins that are suddenly all missing are no longer listed at once',
    in: 'syncCoins',
    find: 'records.length + rejects.length === 0',
    put: 'records.length + rejects.length < 0',
    caughtBy:
      'a list of %s that is suddenly empty is treated as a fault until it has been empty for a while',
  },
];
