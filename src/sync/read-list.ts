import { searchVanished } from './find-vanished.ts';
import {
  isProven,
  type ListMemory,
  missing,
  notePage,
  type PageFacts,
  withServedSize,
} from './list-memory.ts';
import type { ListPort, ListReader } from './list-port.ts';
import { isStandingUnease, pollList } from './poll-list.ts';
import { searchList } from './search-list.ts';
import { type Walked, walkList } from './walk-list.ts';

/** Passes over which counts must disagree in the same way before the whole list is read for it. */
const uneasyPassesMax = 3;
/** An order that changes with every request shows about 63 % of the missing rows per walk. */
const walksMax = 14;
const barrenWalksMax = 3;

export type ListVerdict = {
  /** The service's count and the ledger's are equal, and a complete walk stands behind them. */
  isComplete: boolean;
  /** The walk stopped at a checkpoint and goes on in the next pass. */
  isPaused: boolean;
  /** Rows that the service counts and the ledger lacks; negative: the other way round; null: the service does not count. */
  missing: number | null;
};

/**
 * One pass over a list: brings the ledger in step with it at the least cost that still proves it. The ways, from
 * cheap to dear, each tried only when the one before left the counts unequal: the growing end, a search by rank
 * for rows that are missing or have vanished, a walk over everything, a walk one page after another. `mayWalk` false
 * leaves out the walks, except the first.
 */
export async function readList(
  port: ListPort,
  memory: ListMemory,
  mayWalk: boolean,
): Promise<ListVerdict> {
  const reader = createListReader(port, memory);
  let walked: Walked | null = null;
  if (memory.checkpoint.gap === null || memory.checkpoint.walk !== null) {
    if (isHeadWorthReading(memory)) await pollList(reader);
    walked = await walkList(reader, false);
  }
  if (!walked?.isPaused && !(await isSettledCheaply(reader, walked))) {
    if (mayWalk && isWalkDue(memory, walked !== null)) {
      walked = await walkUntilSettled(reader, walked !== null);
    }
  }
  if (walked?.isPaused) return verdictOf(memory, true);
  await settle(reader, walked);
  return verdictOf(memory, false);
}

async function isSettledCheaply(reader: ListReader, walked: Walked | null): Promise<boolean> {
  const { memory } = reader;
  // What the walk itself could not store explains a difference of just that many rows.
  if (walked && missing(memory) === walked.unstorable) return true;
  if ((await pollList(reader)) || (await searchList(reader))) return true;
  return isSurplusStanding(memory) && (await searchVanished(reader));
}

/** While a first walk takes its time, what arrives at the start of the list is not to wait for its end. */
function isHeadWorthReading(memory: ListMemory): boolean {
  return (memory.checkpoint.walk?.nextPage ?? 1) > 1 && memory.listOrder === 'newest-first';
}

/** A total that only lags catches up in a pass or two; what stays away has gone. */
function isSurplusStanding(memory: ListMemory): boolean {
  return isStandingUnease(memory) && (memory.checkpoint.unease?.passes ?? 0) + 1 >= uneasyPassesMax;
}

/** Too few rows: at once. Too many: the total may only lag, so only when it stays so. */
function isWalkDue(memory: ListMemory, hasWalked: boolean): boolean {
  return hasWalked || missing(memory) > 0 || isSurplusStanding(memory);
}

async function walkUntilSettled(reader: ListReader, hasWalked: boolean): Promise<Walked> {
  const { memory } = reader;
  let barrenWalks = 0;
  for (let walks = 1; ; walks += 1) {
    const before = memory.ledgerCount;
    const isSequential = hasWalked || walks > 1;
    const walked = await walkList(reader, isSequential);
    if (walked.isPaused || missing(memory) === 0 || (await pollList(reader))) return walked;
    barrenWalks = memory.ledgerCount > before ? 0 : barrenWalks + 1;
    const isHopeless = memory.listOrder !== 'unordered' || barrenWalks === barrenWalksMax;
    if (walks === walksMax || (isSequential && isHopeless)) return walked;
  }
}

/**
 * Writes down where the pass has come to: counts that agree are settled; after a walk the difference that is left
 * is taken as it is (the proof is off until the counts are equal again); any other is watched.
 */
async function settle(reader: ListReader, walked: Walked | null): Promise<void> {
  const { memory } = reader;
  const { checkpoint } = memory;
  const written = JSON.stringify(memory);
  if (isProven(memory)) checkpoint.gap = 0;
  else if (walked) checkpoint.gap = acceptedGap(memory, walked);
  if (missing(memory) === 0 || memory.serviceTotal === null) {
    checkpoint.settledTotal = memory.serviceTotal ?? memory.ledgerCount;
    checkpoint.unease = null;
  } else {
    const passes = isStandingUnease(memory) ? (checkpoint.unease?.passes ?? 0) + 1 : 1;
    checkpoint.unease = { total: memory.serviceTotal, count: memory.ledgerCount, passes };
  }
  if (JSON.stringify(memory) !== written) await reader.store([]);
}

/**
 * What a walk leaves unexplained and a further one would leave, too. Rows that came in during or after the walk, or
 * that an unordered list did not happen to show, may still be there: they stay missing.
 */
function acceptedGap(memory: ListMemory, walked: Walked): number {
  const gap = memory.serviceTotal === null ? 0 : memory.serviceTotal - memory.ledgerCount;
  const hasGrown = walked.hasGrown || (memory.serviceTotal ?? 0) > (walked.endTotal ?? 0);
  const mayYetCome = hasGrown || memory.listOrder === 'unordered';
  return gap > 0 && mayYetCome ? Math.min(gap, walked.unstorable) : gap;
}

function verdictOf(memory: ListMemory, isPaused: boolean): ListVerdict {
  return {
    isComplete: isProven(memory) && !isPaused,
    isPaused,
    missing: memory.serviceTotal === null ? null : memory.serviceTotal - memory.ledgerCount,
  };
}

/**
 * Fetched ahead, and the totals show that it and a page taken before it were not answered in the order of their
 * numbers: rows may have moved past both, or not be counted yet.
 */
function isOvertaken(
  { isFresh, total, observation }: PageFacts,
  knownTotal: number | null,
  latestObservation: number,
): boolean {
  if (isFresh || total === null || knownTotal === null) return false;
  return total < knownTotal || (total > knownTotal && observation < latestObservation);
}

export function createListReader(port: ListPort, memory: ListMemory): ListReader {
  let latestObservation = 0;
  const prepare = (pages: PageFacts[]) => {
    const write = port.prepare(pages, memory);
    return async () => {
      const stored = await write();
      memory.ledgerCount = stored.ledgerCount;
      return stored.inserted;
    };
  };
  return {
    memory,
    port,
    async read(page, upTo = page, isFresh = false) {
      const answer = await port.read(page, upTo, isFresh);
      const isAsked = isOvertaken(answer, memory.serviceTotal, latestObservation);
      const taken = isAsked ? await port.read(page, upTo, true) : answer;
      const facts = withServedSize(memory, taken);
      const isLatest = facts.observation >= latestObservation;
      if (isLatest) latestObservation = facts.observation;
      notePage(memory, facts, isLatest);
      return facts;
    },
    store: (pages) => prepare(pages)(),
    prepare,
    async unlist(keys) {
      const { gap } = memory.checkpoint;
      // What an earlier walk took as one row too many is none any more.
      if (gap !== null && gap < 0) memory.checkpoint.gap = Math.min(0, gap + keys.length);
      memory.ledgerCount = (await port.ranks?.unlist(keys, memory)) ?? memory.ledgerCount;
    },
  };
}
