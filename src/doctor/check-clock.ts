import type { CoinsAnswer } from './ask-coins.ts';
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

/**
 * Judges the Date header of an answer of the service. It is wrong if the database agrees with this machine
 * (`databaseAheadMs`; null: unknown). Nonces follow the database's clock, so that matters only if the service refuses
 * them.
 */
export function checkServiceClock(
  { date, aheadMs }: Omit<CoinsAnswer, 'failure'>,
  databaseAheadMs: number | null,
  isRefused: boolean,
): Finding {
  const name = 'clock';
  const isMachineRight = databaseAheadMs !== null && Math.abs(databaseAheadMs) <= warningMs;
  const isWrong =
    aheadMs === null ? date !== null : Math.abs(aheadMs) > warningMs && isMachineRight;
  if (!isWrong) return checkClock(name, aheadMs, "the service's");
  const header = `the service's Date header is implausible: “${date}”`;
  const harmless = 'ask the operator of the service to correct it; no request depends on it';
  if (aheadMs === null) return warningFinding(name, `${header} is not a date`, harmless);
  const direction = aheadMs > 0 ? 'ahead of' : 'behind';
  const seen = `${header} is ${Math.round(Math.abs(aheadMs) / 1000)} s ${direction} this machine and the database, which agree`;
  if (!isRefused) return warningFinding(name, seen, harmless);
  const cure =
    'ask the operator of the service to synchronize its clock (NTP): if it compares nonces with that clock, it refuses every request';
  return badFinding(name, seen, cure);
}
