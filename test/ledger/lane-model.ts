/**
 * Model of `engine.share_slots` and its row, in seconds of a virtual clock, and of processes that take its tickets.
 */
import { seededRandom } from '../support/seeded-random.ts';

export type Ask = { lane: number; n: number; ahead: number; slot: number; passed: number[] };
export type Share = { granted: number; passedAfter: number[]; backIn: number };

const horizons = [Number.POSITIVE_INFINITY, 0.09, 0.06, 0.03];

/** Like `engine.share_slots`; a test compares the two. */
export function shareSlots({ lane, n, ahead, slot, passed }: Ask): Share {
  const horizon = horizons[lane - 1] ?? 0;
  let granted = 0;
  let own = passed[lane - 1] ?? 0;
  while (granted < n && (ahead + granted * slot <= horizon || own >= 7)) {
    granted += 1;
    own = Math.max(0, own - 7);
  }
  const passedAfter = passed.map((slots, index) =>
    index === lane - 1 ? own : Math.min(slots + granted, 14),
  );
  const back = ahead + granted * slot - horizon;
  const backIn = slot > 0 ? Math.min(back, (7 - own) * slot) : back;
  return { granted, passedAfter, backIn: Math.min(Math.max(backIn, 0.02), 5) };
}

/** Demand of one process in one lane. */
export type Demand = {
  lane: number;
  /** Maximum number of its requests in flight or waiting at once. */
  parallel: number;
  /** Seconds from an answer to the next request; 0: it always has another one. */
  pause: number;
};

export type Load = {
  slot: number;
  /** Seconds that an answer takes. */
  latency: number;
  /** Maximum delay of a process (s). */
  jitter: number;
  demands: Demand[];
  seconds: number;
  seed: number;
};

/** A request: its lane, the time at which it was wanted, and its slot. */
export type Going = { lane: number; askedAt: number; goAt: number };

/** A process in one lane: the times since when its requests wait, and those at which others end. */
type Asker = { demand: Demand; waiting: number[]; dueAt: number[]; askAt: number };

/** Plays the load and returns all requests in the order of their slots. */
export function playLoad(load: Load): Going[] {
  const random = seededRandom(load.seed);
  const row = { nextSlotAt: 0, passed: [0, 0, 0, 0] };
  const late = () => random.next() * load.jitter;
  const askers = load.demands.map((demand): Asker => {
    const dueAt = Array.from({ length: demand.parallel }, () => random.next() * demand.pause);
    return { demand, waiting: [], dueAt, askAt: 0 };
  });
  const going: Going[] = [];
  for (;;) {
    const asker = askers.reduce((a, b) => (nextAskOf(b) < nextAskOf(a) ? b : a));
    const { demand, waiting } = asker;
    const at = nextAskOf(asker);
    if (at > load.seconds) return going;
    for (const due of asker.dueAt.filter((each) => each <= at)) waiting.push(due);
    asker.dueAt = asker.dueAt.filter((each) => each > at);
    const answer = ask(row, { at, lane: demand.lane, n: waiting.length }, load.slot);
    for (const goAt of answer.goAt) {
      going.push({ lane: demand.lane, askedAt: waiting.shift() ?? 0, goAt });
      const pause = demand.pause * (0.5 + random.next());
      asker.dueAt.push(Math.max(goAt, at) + load.latency + late() + pause);
    }
    asker.askAt = waiting.length > 0 ? at + answer.backIn + random.next() * 0.015 + late() : 0;
  }
}

/** A process with waiting requests asks for all of them at once. */
function nextAskOf({ waiting, dueAt, askAt }: Asker): number {
  return waiting.length > 0 ? askAt : Math.min(...dueAt);
}

/** Like `ledger.take_tickets`. */
function ask(
  row: { nextSlotAt: number; passed: number[] },
  { at, lane, n }: { at: number; lane: number; n: number },
  slot: number,
): { goAt: number[]; backIn: number } {
  const ahead = Math.max(row.nextSlotAt - at, -0.05);
  const share = shareSlots({ lane, n, ahead, slot, passed: row.passed });
  row.passed = share.passedAfter;
  row.nextSlotAt = at + ahead + share.granted * slot;
  const goAt = Array.from({ length: share.granted }, (_, index) => at + ahead + index * slot);
  return { goAt, backIn: share.backIn };
}
