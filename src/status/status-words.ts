import { countWords } from '../kernel/count-words.ts';
import type { Problem, StreamStatus, UnexpectedDeposits } from '../ledger/reports/ledger-status.ts';

/** `service says 5,012 · ledger holds 5,012 · proven complete`, or the reason why it is not proven. */
export function proofWords(stream: StreamStatus): string {
  const { serviceTotal, ledgerCount } = stream;
  const says =
    serviceTotal === null ? 'service not asked yet' : `service says ${countWords(serviceTotal)}`;
  return `${says} · ledger holds ${countWords(ledgerCount)} · ${standingWords(stream)}`;
}

function standingWords({ serviceTotal, isComplete, notCompleteBecause }: StreamStatus): string {
  if (isComplete) return 'proven complete';
  if (serviceTotal === null) return 'nothing proven yet';
  return `not proven: ${notCompleteBecause ?? 'not read from end to end yet'}`;
}

/** `All is well`, `2 warnings`, `1 critical problem and 2 warnings`. */
export function verdictWords(problems: readonly Problem[]): string {
  if (problems.length === 0) return 'All is well';
  const critical = problems.filter(({ severity }) => severity === 'critical').length;
  const warnings = problems.length - critical;
  return [
    critical > 0
      ? `${countWords(critical)} critical ${critical === 1 ? 'problem' : 'problems'}`
      : '',
    warnings > 0 ? counted(warnings, 'warning', 'warnings') : '',
  ]
    .filter(Boolean)
    .join(' and ');
}

/** `3 transactions changed after reaching a final state, see ledger.state_transitions`; null when there are none. */
export function finalChangesWords(streams: StreamStatus[]): string | null {
  const count = streams.reduce((sum, { finalChanges }) => sum + finalChanges, 0);
  if (count === 0) return null;
  return `${counted(count, 'transaction', 'transactions')} changed after reaching a final state, see ledger.state_transitions`;
}

/** Returns a number with the word for one or for many: `1 address`, `1,234 addresses`. */
export function counted(count: number, one: string, many: string): string {
  return `${countWords(count)} ${count === 1 ? one : many}`;
}

/** `12 s ago`, `5 min ago`, `3 h ago`, `4 days ago`; null → `never`. */
export function agoWords(seconds: number | null): string {
  return seconds === null ? 'never' : `${durationWords(seconds)} ago`;
}

/** `12 s`, `5 min`, `3 h`, `4 days`. */
export function durationWords(seconds: number): string {
  if (seconds < 120) return `${Math.max(0, Math.floor(seconds))} s`;
  if (seconds < 7_200) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3_600)} h`;
  return `${countWords(Math.floor(seconds / 86_400))} days`;
}

/** 16.25 → `lasts 16.3 days`, at the pace of the last week. */
export function daysWords(days: number): string {
  return `lasts ${days.toLocaleString('en-US', { maximumFractionDigits: 1 })} days`;
}

/** `recent deposits to addresses not generated or handed out here: 2 foreign, 1 unknown`; null when there are none. */
export function unexpectedWords({ foreign, unknown }: UnexpectedDeposits): string | null {
  if (foreign + unknown === 0) return null;
  const counts = `${countWords(foreign)} foreign, ${countWords(unknown)} unknown`;
  return `recent deposits to addresses not generated or handed out here: ${counts}`;
}

/** Seconds from one ISO time to a later one. */
export function secondsBetween(earlier: string, later: string): number {
  return (Date.parse(later) - Date.parse(earlier)) / 1000;
}
