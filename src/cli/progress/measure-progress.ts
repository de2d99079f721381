import type { Progress } from '../../sync/sync-context.ts';
import type { Observers } from '../context/compose-sync.ts';
import { createSmoothRate, type SmoothRate } from './smooth-rate.ts';

/** Progress of one part. Rates are smoothed; null means unknown. */
export type PartFacts = {
  part: string;
  done: number;
  total: number | null;
  /** Pages of its list that this command has read; null for a part without a list. */
  pages: number | null;
  rowsPerSecond: number | null;
  /** Rate of a part that needs one request per row and is therefore limited by the request rate. */
  requestsPerSecond: number | null;
  secondsLeft: number | null;
  /** Duration of the pass, once it has finished. */
  tookSeconds: number | null;
};

/** `waiting`: the reason why nothing arrives; null while something does. */
type ProgressFacts = { seconds: number; parts: PartFacts[]; waiting: string | null };

/**
 * Tracks a pass by its callbacks. `measure` returns the current progress and is meant to be called every few seconds.
 */
export type ProgressMeter = Required<Omit<Observers, 'onHealed'>> & {
  onProgress: Progress;
  measure(): ProgressFacts;
};

/** `pagesOfPass`: pages of the current pass; a command may run several over one list. */
type Part = Pick<PartFacts, 'part' | 'done' | 'total' | 'pages'> & {
  pagesOfPass: number;
  startedMs: number;
  updatedMs: number;
  rate: SmoothRate;
  endedMs: number | null;
};

/** State of the requests. `isOpened`: database and service are open. `failure`: outcome of a failed last attempt. */
type Service = {
  isOpened: boolean;
  inFlight: number;
  answers: number;
  answeredMs: number;
  failure: string | null;
  pausedUntilMs: number;
};

const silenceMs = 5_000;
/** Lower bound of the pace for which a remaining time is shown. */
const slowestPerSecond = 0.01;

/** Creates a meter. `now` returns milliseconds of a monotonic clock. */
export function createProgressMeter(now: () => number): ProgressMeter {
  const startMs = now();
  const parts = new Map<string, Part>();
  const service: Service = {
    isOpened: false,
    inFlight: 0,
    answers: 0,
    answeredMs: startMs,
    failure: null,
    pausedUntilMs: startMs,
  };
  const answerRate = createSmoothRate(startMs, 0);

  return {
    onProgress(part, done, total, pages) {
      const nowMs = now();
      const former = parts.get(part);
      // A list may be read again from its start.
      const known = former && done >= former.done ? former : begin(part, done, nowMs);
      known.rate.update(nowMs, done);
      const update = { done, total, ...addPages(known, pages), updatedMs: nowMs, endedMs: null };
      parts.set(part, Object.assign(known, update));
    },
    onOpened() {
      service.isOpened = true;
    },
    onRun() {
      for (const part of parts.values()) part.endedMs ??= now();
    },
    onSend() {
      service.isOpened = true;
      service.inFlight += 1;
    },
    onAttempt({ outcome }) {
      service.inFlight -= 1;
      // The program itself has ended the request.
      if (outcome === 'interrupted') return;
      service.failure = isAnswer(outcome) ? null : outcome;
      if (!isAnswer(outcome)) return;
      service.answers += 1;
      service.answeredMs = now();
      answerRate.update(service.answeredMs, service.answers);
    },
    onPause(ms) {
      service.pausedUntilMs = Math.max(service.pausedUntilMs, now() + ms);
    },
    measure() {
      const nowMs = now();
      const { answers, answeredMs } = service;
      if (nowMs - answeredMs > silenceMs) answerRate.update(nowMs, answers);
      return {
        seconds: (nowMs - startMs) / 1_000,
        parts: [...parts.values()].map((part) => factsOf(part, nowMs, answerRate.perSecond())),
        waiting: waitingWords(service, nowMs),
      };
    },
  };
}

/**
 * Returns true if the service gave an answer that another attempt would not change: data, or the answer that there is
 * none.
 */
function isAnswer(outcome: string): boolean {
  return outcome === 'success' || outcome === 'refused';
}

/** Returns the reason why nothing arrives; null while something does. */
function waitingWords(
  { isOpened, inFlight, answers, answeredMs, failure, pausedUntilMs }: Service,
  nowMs: number,
): string | null {
  if (pausedUntilMs > nowMs) {
    const seconds = Math.ceil((pausedUntilMs - nowMs) / 1_000);
    return `paused: the service asked to wait, ${seconds} s to go`;
  }
  const silentMs = nowMs - answeredMs;
  if (silentMs < silenceMs) return null;
  if (!isOpened) return 'waiting for the database';
  const seconds = Math.floor(silentMs / 1_000);
  if (failure !== null)
    return `no data from the service for ${seconds} s (last failure: ${failure}), retrying`;
  // The program itself waits: for the database, for the request budget, or before another check.
  if (inFlight === 0) return `nothing requested for ${seconds} s`;
  return answers === 0
    ? 'no answer from the service yet'
    : `no answer from the service for ${seconds} s`;
}

/**
 * Adds the pages read since the last call. Each pass counts from 0, so a smaller number than before is that of a new
 * pass.
 */
function addPages(
  { pages, pagesOfPass }: Part,
  ofPass: number | undefined,
): Pick<Part, 'pages' | 'pagesOfPass'> {
  if (ofPass === undefined) return { pages, pagesOfPass };
  const added = ofPass < pagesOfPass ? ofPass : ofPass - pagesOfPass;
  return { pages: (pages ?? 0) + added, pagesOfPass: ofPass };
}

function begin(part: string, done: number, nowMs: number): Part {
  const rate = createSmoothRate(nowMs, done);
  const update = { total: null, pages: null, pagesOfPass: 0, startedMs: nowMs };
  return { part, done, rate, ...update, updatedMs: nowMs, endedMs: null };
}

function factsOf(
  { rate, startedMs, updatedMs, endedMs, pagesOfPass: _, ...counts }: Part,
  nowMs: number,
  answersPerSecond: number | null,
): PartFacts {
  // Lowers the rate only after a longer silence; pauses between batches are normal.
  if (nowMs - updatedMs > silenceMs) rate.update(nowMs, counts.done);
  const rowsPerSecond = rate.perSecond();
  // Details arrive in batches and their answers one by one, so the answers give the better rate.
  const requestsPerSecond = counts.part === 'details' ? answersPerSecond : null;
  const pace = requestsPerSecond ?? rowsPerSecond ?? 0;
  const left = counts.total === null ? null : counts.total - counts.done;
  return {
    ...counts,
    rowsPerSecond,
    requestsPerSecond,
    secondsLeft: secondsFor(left, pace),
    tookSeconds: endedMs === null ? null : (endedMs - startedMs) / 1_000,
  };
}

function secondsFor(left: number | null, pace: number): number | null {
  if (left === null) return null;
  if (left <= 0) return 0;
  return pace < slowestPerSecond ? null : left / pace;
}
