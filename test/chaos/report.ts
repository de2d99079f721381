import type { ProcessFigures } from './resources.ts';

/** A condition of the run, and the violations found. */
export type Invariant = { id: string; promise: string; violations: number; samples: unknown[] };

/** Result of a run. */
export type ChaosOutcome = {
  seed: number;
  replay: string;
  minutes: number;
  queue: string;
  folder: string;
  /** Faults by kind; `enough`: with fewer the run proves nothing. */
  faults: { kind: string; planned: number; made: number; enough: number }[];
  /** Faults that could not be made here, each with the requirement that was missing. */
  skipped: { kind: string; lacks: string }[];
  work: Record<string, number>;
  invariants: Invariant[];
  /** Milliseconds by kind of fault. */
  recoveries: ReadonlyMap<string, readonly number[]>;
  exits: Record<string, number>;
  resources: ProcessFigures[];
};

export type Verdict = 'passed' | 'failed' | 'inconclusive';

const samplesShown = 3;
const samplesKept = 20;

/** Holds if no violation was found. */
export function invariant(id: string, promise: string, found: unknown[]): Invariant {
  return { id, promise, violations: found.length, samples: found.slice(0, samplesKept) };
}

/** A violation counts in any case; without one, too few faults prove nothing. */
export function judge(outcome: ChaosOutcome): Verdict {
  if (outcome.invariants.some(({ violations }) => violations > 0)) return 'failed';
  if (outcome.invariants.length === 0) return 'inconclusive';
  const isThin = outcome.faults.some(({ made, enough }) => made < enough);
  return isThin || outcome.faults.every(({ made }) => made === 0) ? 'inconclusive' : 'passed';
}

export const exitCodes: Record<Verdict, number> = { passed: 0, failed: 1, inconclusive: 3 };

/** The value that this percentage of the sorted numbers does not exceed. */
export function percentile(numbers: readonly number[], percent: number): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)] ?? Number.NaN;
}

/** The report for people. */
export function formatReport(outcome: ChaosOutcome): string {
  const verdict = judge(outcome);
  return [
    `chaos: ${outcome.minutes} minutes, queue in ${outcome.queue}, seed ${outcome.seed}`,
    '',
    ...table(['fault', 'planned', 'made'], outcome.faults.map(faultRow)),
    ...outcome.skipped.map(({ kind, lacks }) => `skipped: ${kind} (no ${lacks})`),
    '',
    ...table(['work', ''], Object.entries(outcome.work).map(cells)),
    '',
    ...table(['process ends', ''], Object.entries(outcome.exits).map(cells)),
    '',
    ...table(['recovery, s', 'n', 'p50', 'p95', 'p99'], [...outcome.recoveries].map(recoveryRow)),
    '',
    ...table(
      ['longest-lived process', 'min', 'RSS max MiB', 'MiB/min', 'files max', 'sockets max'],
      longestLived(outcome.resources).map(resourceRow),
    ),
    '',
    ...outcome.invariants.flatMap(invariantLines),
    '',
    `logs and figures: ${outcome.folder}`,
    `again: ${outcome.replay}`,
    `verdict: ${verdict}`,
    '',
  ].join('\n');
}

/** The report for programs. */
export function reportAsJson(outcome: ChaosOutcome): string {
  const recoveries = [...outcome.recoveries].map(([kind, times]) => ({
    kind,
    count: times.length,
    p50: percentile(times, 50),
    p95: percentile(times, 95),
    p99: percentile(times, 99),
    max: percentile(times, 100),
  }));
  return `${JSON.stringify({ verdict: judge(outcome), ...outcome, recoveries }, null, 2)}\n`;
}

function faultRow({ kind, planned, made, enough }: ChaosOutcome['faults'][number]): string[] {
  return [kind, String(planned), `${made}${made < enough ? ` (too few: ${enough} needed)` : ''}`];
}

function cells([name, value]: [string, number]): string[] {
  return [name, String(value)];
}

function recoveryRow([kind, times]: [string, readonly number[]]): string[] {
  const seconds = [50, 95, 99].map((percent) => (percentile(times, percent) / 1_000).toFixed(1));
  return [kind, String(times.length), ...seconds];
}

/** Returns the process of each member that lived longest. */
function longestLived(figures: ProcessFigures[]): ProcessFigures[] {
  const best = new Map<string, ProcessFigures>();
  for (const one of figures) {
    if (one.seconds >= (best.get(one.member)?.seconds ?? 0)) best.set(one.member, one);
  }
  return [...best.values()];
}

function resourceRow(one: ProcessFigures): string[] {
  return [
    `${one.member} (${one.pid})`,
    (one.seconds / 60).toFixed(1),
    one.rssMaxMiB.toFixed(0),
    one.rssMiBPerMinute?.toFixed(2) ?? '-',
    String(one.filesMax),
    String(one.socketsMax),
  ];
}

function invariantLines({ id, promise, violations, samples }: Invariant): string[] {
  const head = `${violations === 0 ? 'holds' : `BROKEN ${violations}x`}  ${id}: ${promise}`;
  return [head, ...samples.slice(0, samplesShown).map((sample) => `    ${JSON.stringify(sample)}`)];
}

function table(head: string[], rows: string[][]): string[] {
  if (rows.length === 0) return [];
  const lines = [head, ...rows];
  const widths = head.map((_, column) =>
    Math.max(...lines.map((line) => (line[column] ?? '').length)),
  );
  return lines.map((line) =>
    line
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd(),
  );
}
