import { LedgerError } from '../../src/kernel/errors.ts';
import { efforts } from '../../src/sync/list/doubt.ts';
import { createListSession } from '../../src/sync/list/list-session.ts';
import { isProven, type ListState, withCheckpoint } from '../../src/sync/list/list-state.ts';
import { readList } from '../../src/sync/list/read-list.ts';
import type { EffortName, History, ListSetup, Round } from './draw-history.ts';
import { Killed, ListModel, World } from './list-model.ts';
import { type Figures, ProofJudge } from './proof-judge.ts';
import { noLies } from './service-lies.ts';

/**
 * A list that no longer changes is proven within this number of passes, if no earlier doubt has used up its budget.
 */
const calmPassesMax: Record<EffortName, number> = {
  daemon: 2_000,
  command: 2_000,
  pool: 2_000,
  backfill: 8,
};

type Played = { model: ListModel; judge: ProofJudge };

/** Plays the history, then lets the service rest; returns the broken guarantees. */
export async function playHistory(history: History, figures: Figures): Promise<string[]> {
  const violations: string[] = [];
  const world = new World(history.luck);
  world.requestMs = history.requestMs;
  const lists = history.lists.map((setup): Played => {
    const model = openList(setup, world);
    // Rows that lists share can move only if lists give up rows.
    if (history.lists.length > 1) model.canUnlist = true;
    return { model, judge: new ProofJudge(model, violations, figures) };
  });
  world.onWrite = (written) => {
    lists.find(({ model }) => model === written)?.judge.noteWrite();
    for (const { judge } of lists) judge.checkClaim();
  };
  world.onUnlist = (list, keys) => lists[list.index]?.judge.checkUnlisted(keys);
  figures.histories += 1;
  for (const round of history.rounds) await playRound(lists, round, history.isTogether);
  await rest(lists, history, violations);
  for (const { model } of lists) {
    figures.passes += model.stored.passes;
    figures.requests += model.requests;
    figures.looks += model.storedLooks;
  }
  return violations;
}

function openList(setup: ListSetup, world: World): ListModel {
  const model = new ListModel(setup.order, setup.size, setup.isOrderFixed, world);
  const { timeStep, stepMs, undatedEach } = setup;
  Object.assign(model.list, { timeStep, stepMs, undatedEach });
  const { hasTimes, canUnlist, beyondEnd, lies, aheadMax, batchRows, pauseShare } = setup;
  Object.assign(model, { hasTimes, canUnlist, beyondEnd, lies, aheadMax, batchRows, pauseShare });
  if (setup.claimsMore) model.claimedSize = 10;
  model.arrive(setup.rows);
  // The history that a first pass finds is older than any lag.
  world.time += 1_000_000;
  return model;
}

async function playRound(lists: Played[], round: Round, isTogether: boolean): Promise<void> {
  const mine = <T>(all: T[], list: number) => all.filter((_, n) => n % lists.length === list);
  for (const { model } of lists) {
    for (const next of mine(round.between, model.index)) model.happen(next);
    model.script(mine(round.during, model.index));
  }
  const read = (played: Played) =>
    playPass(played, round.effort, mine(round.ahead, played.model.index));
  if (isTogether) await Promise.all(lists.map(read));
  else for (const played of lists) await read(played);
}

/** False: it was killed, or the service seemed to ignore the page number. */
async function playPass(
  { model, judge }: Played,
  effort: EffortName,
  ahead: number[] = [],
): Promise<boolean> {
  judge.beginPass();
  try {
    await readList(model.port(ahead), model.beginPass(), efforts[effort]);
    judge.endPass();
    return true;
  } catch (error) {
    if (!(error instanceof Killed || error instanceof LedgerError)) throw error;
    model.forgetTaken();
    return false;
  }
}

/** The service no longer changes and counts correctly: the lists are soon proven, and then cost one request each. */
async function rest(lists: Played[], { calmEffort }: History, violations: string[]): Promise<void> {
  for (const { model } of lists) {
    model.script([]);
    model.lies = noLies;
    model.pauseShare = 0;
  }
  for (const played of lists) await playPass(played, 'daemon');
  endSharing(lists);
  await endConflicts(lists, calmEffort, violations);
  for (const { model, judge } of lists)
    if (judge.isExcused || judge.isMisled() || hasAccepted(model.stored)) await audit(model);
  await settle(lists, calmEffort, violations);
  if (violations.length > 0) return;
  // One more pass notices a row that has just moved here.
  for (const played of lists) await playPass(played, 'daemon');
  for (const played of lists)
    if (isProven(played.model.current())) await checkQuiet(played, violations);
}

/**
 * Returns true if the last clean scan left a difference. It stays until the counts change or the audit reads the list.
 */
function hasAccepted({ acceptedDifference, checkpoint }: ListState): boolean {
  return acceptedDifference !== 0 || checkpoint.unmatched > 0;
}

/**
 * Stores each page once and clears the last full scan. Like the slices of the audit, this finds rows that equal or
 * accepted counts hide.
 */
async function audit(model: ListModel): Promise<void> {
  model.stored = withCheckpoint(model.stored, { isScanUnclean: true });
  const session = createListSession(model.port(), model.beginPass());
  for (let page = 1; ; page += 1) {
    const facts = await session.read(page, Math.ceil(model.rows.length / model.size));
    if ((page - 1) * model.size >= model.rows.length) break;
    await session.store([facts]);
  }
  model.remembered = model.taken.length;
}

function endSharing(lists: Played[]): void {
  const [first, second] = lists;
  if (!first || !second) return;
  for (const { key } of second.model.rows) first.model.list.removeKey(key);
}

/** Reads the lists until no row is in two of them. The service shows none in both, and their counts may be equal. */
async function endConflicts(
  lists: Played[],
  effort: EffortName,
  violations: string[],
): Promise<void> {
  const max = Math.max(...lists.map((played) => passesMax(played, effort)));
  const hasConflict = () => lists.some(({ model }) => model.current().conflicts > 0);
  for (let pass = 1; pass <= max && hasConflict(); pass += 1)
    for (const played of lists) await playPass(played, effort);
  if (hasConflict()) violations.push(`a row stays in two lists at rest, ${effort}`);
}

/**
 * Passes after which a list at rest must be proven. A bounded effort first waits until ordinary passes have paid for
 * earlier doubts, unbounded backfills included. Then it waits for the scan, longer after each one that explained
 * nothing.
 */
function passesMax({ model }: Played, effort: EffortName): number {
  const max = calmPassesMax[effort];
  if (!efforts[effort].isBounded) return max;
  const { spentRequests, fruitlessScans } = model.stored.checkpoint;
  const scan = Math.ceil(model.rows.length / model.size) + 2;
  return max + spentRequests + 2 * scan * 2 ** fruitlessScans;
}

/** Reads the lists in turn until all are proven, because a row that leaves one list may move to the other one. */
async function settle(lists: Played[], effort: EffortName, violations: string[]): Promise<void> {
  const max = Math.max(...lists.map((played) => passesMax(played, effort)));
  const isSettled = () =>
    lists.every(({ model }) => isProven(model.current()) || keepsVanished(model));
  for (let pass = 1; pass <= max; pass += 1) {
    for (const { model, judge } of lists) {
      if (await playPass({ model, judge }, effort)) continue;
      violations.push(`list ${model.index}: a pass over a list at rest failed`);
      return;
    }
    if (isSettled()) break;
  }
  for (const { model } of lists) {
    if (keepsVanished(model)) continue;
    if (!isProven(model.current()))
      violations.push(`list ${model.index}: not proven at rest, ${effort}`);
    else checkSets(model, violations);
  }
}

/** Rows of some lists are never marked as unlisted: such a list stays unproven once it has lost one. */
function keepsVanished(model: ListModel): boolean {
  return !model.canUnlist && [...model.ledger.keys()].some((key) => !model.list.has(key));
}

function checkSets(model: ListModel, violations: string[]): void {
  const missing = model.rows.filter((row) => !model.ledger.has(row.key)).length;
  const extra = [...model.ledger.keys()].filter((key) => !model.list.has(key)).length;
  if (missing + extra > 0)
    violations.push(`list ${model.index}: at rest ${missing} are missing and ${extra} too many`);
}

async function checkQuiet({ model, judge }: Played, violations: string[]): Promise<void> {
  const before = model.current();
  const requestsBefore = model.requests;
  await playPass({ model, judge }, 'daemon');
  const requests = model.requests - requestsBefore;
  const { passes, totalObservation } = before;
  const after = JSON.stringify({ ...model.current(), passes, totalObservation });
  if (requests > 1) violations.push(`list ${model.index}: ${requests} requests at rest`);
  if (after !== JSON.stringify(before)) violations.push(`list ${model.index}: changed at rest`);
}
