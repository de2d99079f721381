import { setTimeout as delay } from 'node:timers/promises';
import { faultsOff, type Probes } from './probes.ts';
import { type Invariant, invariant } from './report.ts';

/** Time to read a list again and fetch missing details. */
const catchUpMs = 120_000;
const checkPauseMs = 2_000;
/** Three daemons on two cores, together with the checks. */
const msPerDetail = 12;

/**
 * Returns the time (ms) without progress after which a run counts as incomplete. A row that is not final is checked
 * again after half the time since its last change, so after half the run at most. New rows bring details that are due,
 * so that less may be complete for a while.
 */
export function restOf(minutes: number, history: number): number {
  return catchUpMs + (minutes * 60_000) / 2 + history * msPerDetail;
}

/** Waits until every check holds and all probes have returned, for `restMs` since the last progress. */
export async function converge(
  probes: Probes,
  check: () => Promise<Invariant[]>,
  { restMs, say }: { restMs: number; say: (line: string) => void },
): Promise<Invariant> {
  const startedAt = performance.now();
  const what = `Complete at rest: no ${restMs / 1_000} s without progress`;
  let fewest = Number.POSITIVE_INFINITY;
  let progressAt = startedAt;
  for (;;) {
    const checkedAt = performance.now();
    const broken = (await check()).filter(({ violations }) => violations > 0);
    const lost = probes.pending();
    const now = performance.now();
    if (broken.length === 0 && lost.length === 0) {
      probes.record(faultsOff, now - startedAt);
      return invariant('converged', what, []);
    }
    const open = broken.reduce((sum, { violations }) => sum + violations, lost.length);
    if (open < fewest) progressAt = now;
    fewest = Math.min(fewest, open);
    if (now - progressAt > restMs) {
      const missing = [...broken.map(({ id, violations }) => ({ id, violations })), ...lost];
      return invariant('converged', what, missing);
    }
    say(`not complete: ${broken.map(({ id, violations }) => `${id} ${violations}`).join(', ')}`);
    // The daemons need the cores that a check of a long history keeps busy.
    await delay(Math.max(checkPauseMs, 2 * (now - checkedAt)));
  }
}
