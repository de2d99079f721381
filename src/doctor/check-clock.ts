import { badFinding, type Finding, okFinding, warningFinding } from './finding.ts';

const warningMs = 5_000;
const badMs = 60_000;

/**
 * Judges a clock difference. `aheadMs`: time by which the other clock is ahead of this machine's; null: unknown.
 * `whose` names the other clock, as in "the service's".
 */
export function checkClock(name: string, aheadMs: number | null, whose: string): Finding {
  if (aheadMs === null) {
    const cure = 'compare the clock of this machine with a time server (NTP)';
    return warningFinding(name, `no answer contained the time of ${whose} clock`, cure);
  }
  const seconds = Math.round(Math.abs(aheadMs) / 1000);
  if (Math.abs(aheadMs) <= warningMs)
    return okFinding(name, `within ${Math.max(1, seconds)} s of ${whose}`);
  const direction = aheadMs > 0 ? 'behind' : 'ahead of';
  const judge = Math.abs(aheadMs) > badMs ? badFinding : warningFinding;
  return judge(
    name,
    `this machine's clock is ${seconds} s ${direction} ${whose}`,
    'synchronize the clock (NTP): nonces and the queue depend on it',
  );
}
