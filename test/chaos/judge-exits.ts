import type { Exit } from './fleet.ts';

/** An interval in which the runner kept a server from the processes; wall clock. */
export type Outage = { of: 'database' | 'redis'; from: number; to: number };

const stopMaxMs = 30_000;
/** An outage has effects for this long, because reconnecting takes time. */
const afterglowMs = 30_000;
/** The exit codes of a one-off command that the contract allows for the faults it met. */
const backfillCodes = [0, 3, 4, 5];

/** The unexplained exits, with the reason. */
export function judgeExits(
  exits: readonly Exit[],
  outages: readonly Outage[],
): { exit: Exit; reason: string }[] {
  return exits.flatMap((exit) => {
    const reason = complaint(exit, outages);
    return reason === null ? [] : [{ exit, reason }];
  });
}

function complaint(exit: Exit, outages: readonly Outage[]): string | null {
  if (exit.told?.signal === 'SIGKILL') return null;
  if (exit.told) return complaintOnStop(exit, exit.told.at);
  if (exit.signal !== null) return `ended by ${exit.signal} that nobody sent`;
  if (exit.command === 'start') {
    const isExplained = exit.code === 5 && !exit.wasStarted && isTouched(exit, outages);
    return isExplained ? null : `a daemon ended by itself with ${exit.code}`;
  }
  // A restore removes the tables during a command.
  if (exit.code === 1 && isTouched(exit, outages) && isDisturbed(exit)) return null;
  if (exit.code === null || !backfillCodes.includes(exit.code)) return `ended with ${exit.code}`;
  return exit.code === 5 && !isTouched(exit, outages)
    ? 'ended with 5 while database and queue were there'
    : null;
}

function complaintOnStop(exit: Exit, toldAt: number): string | null {
  const tookMs = exit.endedAt - toldAt;
  if (tookMs > stopMaxMs) return `took ${Math.round(tookMs / 1_000)} s to stop`;
  if (exit.code === 0) return null;
  // Signals end a process before it can handle them.
  const wasDeaf = exit.signal === 'SIGTERM' && !exit.wasStarted;
  return wasDeaf ? null : `told to stop, it ended with ${exit.code ?? exit.signal}`;
}

function isDisturbed({ lastWords }: Exit): boolean {
  return /deadlock detected|query returned no rows|does not exist/.test(lastWords);
}

function isTouched({ startedAt, endedAt }: Exit, outages: readonly Outage[]): boolean {
  return outages.some(({ from, to }) => from <= endedAt && to + afterglowMs >= startedAt);
}
