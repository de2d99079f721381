import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { compiledProgram } from '../support/bundled-program.ts';

export const focusNames = [
  'kills',
  'answers',
  'posts',
  'database',
  'redis',
  'clock',
  'disk',
  'moves',
  'lies',
] as const;

export type Focus = (typeof focusNames)[number];

export type ChaosOptions = {
  minutes: number;
  seed: number;
  queue: 'postgres' | 'redis';
  daemons: number;
  /** Null: faults of every kind. */
  focus: Focus | null;
  /** Ends the run early after this number of faults of the focus (requests, for `answers`). */
  until: number | null;
  /** A long history whose transactions add up to every balance; accounting programs check its exports. */
  hasBooks: boolean;
  /** A consumer and webhook receivers, some of them failing, follow the change feed. */
  hasFeed: boolean;
  /** Folder of PostgreSQL's programs; null: those of the embedded one. */
  programs: string | null;
  /** Folder of `pg_dump` and `pg_restore`; null: beside the server's programs. */
  dumpTools: string | null;
  /** The file that starts `wallet-ledger`. */
  program: string;
  /** Folder for logs and report. */
  out: string;
  /** File of the report as JSON. */
  json: string;
};

export class UsageError extends Error {}

export const usage = `Usage: npm run chaos -- [--minutes N] [--seed N] [--queue postgres|redis] [--daemons N]
  [--focus ${focusNames.join('|')}] [--until N] [--books] [--feed] [--postgres DIR] [--dump-tools DIR]
  [--program FILE] [--out DIR] [--json FILE]`;

/** Reads the command line. Throws a UsageError that says what is wrong. */
export function readOptions(args: string[]): ChaosOptions {
  const values = parse(args);
  const { queue = 'postgres', focus } = values;
  if (queue !== 'postgres' && queue !== 'redis') throw new UsageError('--queue: postgres or redis');
  const isFocus = (text: string): text is Focus => focusNames.some((name) => name === text);
  if (focus !== undefined && !isFocus(focus))
    throw new UsageError(`--focus: one of ${focusNames.join(', ')}`);
  if (focus !== undefined && values.books)
    throw new UsageError('--books is a run of every fault: leave --focus out');
  if (focus === 'moves' && values.feed)
    throw new UsageError(
      '--feed: a feed that went back to an earlier state is no longer one series',
    );
  if (focus === 'redis' && queue !== 'redis')
    throw new UsageError('--focus redis needs --queue redis');
  const until = values.until === undefined ? null : numberOf('until', values.until, 1, 1e9);
  if (until !== null && focus === undefined) throw new UsageError('--until needs --focus');
  const seed = numberOf('seed', values.seed ?? String(Date.now() % 1_000_000), 0, 2 ** 32 - 1);
  const out = values.out ?? join(tmpdir(), `wallet-ledger-chaos-${seed}-${process.pid}`);
  return {
    minutes: numberOf('minutes', values.minutes ?? '2', 0.1, 10_000),
    seed: Math.floor(seed),
    queue,
    daemons: Math.floor(numberOf('daemons', values.daemons ?? '3', 1, 20)),
    focus: focus ?? null,
    until,
    hasBooks: values.books ?? false,
    hasFeed: values.feed ?? false,
    programs: values.postgres ?? null,
    dumpTools: values['dump-tools'] ?? null,
    program: resolve(values.program ?? compiledProgram),
    out,
    json: values.json ?? join(out, 'report.json'),
  };
}

/** The command that repeats the same run. */
export function replayLine({
  minutes,
  seed,
  queue,
  daemons,
  focus,
  until,
  hasBooks,
  hasFeed,
  programs,
  dumpTools,
}: ChaosOptions): string {
  const words = [`--minutes ${minutes} --seed ${seed} --queue ${queue} --daemons ${daemons}`];
  if (focus !== null) words.push(`--focus ${focus}`);
  if (until !== null) words.push(`--until ${until}`);
  if (hasBooks) words.push('--books');
  if (hasFeed) words.push('--feed');
  if (programs !== null) words.push(`--postgres ${programs}`);
  if (dumpTools !== null) words.push(`--dump-tools ${dumpTools}`);
  return `npm run chaos -- ${words.join(' ')}`;
}

function parse(args: string[]) {
  const text = { type: 'string' } as const;
  try {
    return parseArgs({
      args,
      options: {
        minutes: text,
        seed: text,
        queue: text,
        daemons: text,
        focus: text,
        until: text,
        books: { type: 'boolean' },
        feed: { type: 'boolean' },
        postgres: text,
        'dump-tools': text,
        program: text,
        out: text,
        json: text,
      },
    }).values;
  } catch (error) {
    throw new UsageError((error as Error).message, { cause: error });
  }
}

function numberOf(name: string, text: string, min: number, max: number): number {
  const value = text.trim() === '' ? Number.NaN : Number(text);
  if (value >= min && value <= max) return value;
  throw new UsageError(`--${name}: a number from ${min} to ${max}`);
}
