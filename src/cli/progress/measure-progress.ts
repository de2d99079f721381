import type { Progress } from '../../sync/sync-context.ts';
import type { Observers } from '../compose-sync.ts';
import { createSmoothRate, type SmoothRate } from './smooth-rate.ts';

/** Where one part stands. Rates are smoothed; null is what is not known yet. */
export type PartFacts = {
  part: string;
  done: number;
  total: number | null;
  /** Of its list, in this pass; null for a part that has none. */
  pages: number | null;
  rowsPerSecond: number | null;
  /** For a part whose rows cost a request each, which is what the request budget limits. */
  requestsPerSecond: number | null;
  secondsLeft: number | null;
  /** How long it took, once its pass is through. */
  tookSeconds: number | null;
};

/** `waiting`: why nothing comes in, null while something does. */
type ProgressFacts = { seconds: number; parts: PartFacts[]; waiting: string | null };

/** Follows a pass by what it tells; `measure` says where everything stands now, and is called every few seconds. */
export type ProgressMeter = Required<Observers> & {
  onProgress: Progress;
  measure(): ProgressFacts;
};

type Part = Pick<PartFacts, 'part' | 'done' | 'total' | 'pages'> & {
  startedMs: number;
  toldMs: number;
  rate: SmoothRate;
  endedMs: number | null;
};

const silenceMs = 5_000;
/** Below it a time left would only be a big number. */
const slowestPerSecond = 0.01;

/** `now`: milliseconds of a steady clock. */
export function createProgressMeter(now: () => number): ProgressMeter {
  const startMs = now();
  const parts = new Map<string, Part>();
  let answers = 0;
  let answeredMs = startMs;
  let failure: string | null = null;
  let pausedUntilMs = startMs;
  const answerRate = createSmoothRate(startMs, 0);

  const waiting = (nowMs: number): string | null => {
    if (pausedUntilMs > nowMs) {
      const seconds = Math.ceil((pausedUntilMs - nowMs) / 1_000);
      return `paused: the service asked to wait (429), ${seconds} s to go`;
    }
    const silentMs = nowMs - answeredMs;
    if (silentMs < silenceMs) return null;
    // The database may be starting still.
    if (answers === 0 && failure === null) return 'nothing from the service yet';
    const last = failure === null ? '' : ` (last failure: ${failure}), trying again`;
    return `nothing from the service for ${Math.floor(silentMs / 1_000)} s${last}`;
  };

  return {
    onProgress(part, done, total, pages) {
      const nowMs = now();
      const known = parts.get(part) ?? begin(part, done, nowMs);
      known.rate.update(nowMs, done);
      const told = { done, total, pages: pages ?? null, toldMs: nowMs, endedMs: null };
      parts.set(part, Object.assign(known, told));
    },
    onRun() {
      for (const part of parts.values()) part.endedMs ??= now();
    },
    onAttempt({ outcome }) {
      if (outcome !== 'success') {
        failure = outcome;
        return;
      }
      answers += 1;
      answeredMs = now();
      failure = null;
      answerRate.update(answeredMs, answers);
    },
    onPause(ms) {
      pausedUntilMs = Math.max(pausedUntilMs, now() + ms);
    },
    measure() {
      const nowMs = now();
      if (nowMs - answeredMs > silenceMs) answerRate.update(nowMs, answers);
      return {
        seconds: (nowMs - startMs) / 1_000,
        parts: [...parts.values()].map((part) => factsOf(part, nowMs, answerRate.perSecond())),
        waiting: waiting(nowMs),
      };
    },
  };
}

function begin(part: string, done: number, nowMs: number): Part {
  const rate = createSmoothRate(nowMs, done);
  const told = { total: null, pages: null, startedMs: nowMs, toldMs: nowMs, endedMs: null };
  return { part, done, rate, ...told };
}

function factsOf(
  { rate, startedMs, toldMs, endedMs, ...counts }: Part,
  nowMs: number,
  answersPerSecond: number | null,
): PartFacts {
  // Between two batches nothing is amiss yet.
  if (nowMs - toldMs > silenceMs) rate.update(nowMs, counts.done);
  const rowsPerSecond = rate.perSecond();
  // Details come in batches, their answers one by one: those tell the pace better.
  const requestsPerSecond = counts.part === 'details' ? answersPerSecond : null;
  const pace = requestsPerSecond ?? rowsPerSecond ?? 0;
  const left = counts.total === null ? null : counts.total - counts.done;
  return {
    ...counts,
    rowsPerSecond,
    requestsPerSecond,
    secondsLeft: left === null || pace < slowestPerSecond ? null : Math.max(0, left) / pace,
    tookSeconds: endedMs === null ? null : (endedMs - startedMs) / 1_000,
  };
}
