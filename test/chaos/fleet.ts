import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream, mkdirSync, type WriteStream } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { stopChild } from '../support/embedded-server.ts';

/** End of one process. */
export type Exit = {
  member: string;
  command: string;
  pid: number;
  /** Milliseconds of the wall clock. */
  startedAt: number;
  endedAt: number;
  code: number | null;
  signal: NodeJS.Signals | null;
  /** The signal that the runner sent and its time; null: the process ended by itself. */
  told: { signal: 'SIGKILL' | 'SIGTERM'; at: number } | null;
  /** True if its output contains the last line of a daemon's start. */
  wasStarted: boolean;
  /** The end of its output. */
  lastWords: string;
};

export type Member = {
  readonly name: string;
  pid(): number | undefined;
  isStarted(): boolean;
  /** Ends the process; `revive` starts it again. */
  end(signal: 'SIGKILL' | 'SIGTERM'): Promise<Exit | undefined>;
  /** Sends SIGSTOP, and SIGCONT after this time. */
  freeze(forMs: number): Promise<void>;
  /** Starts the process if none is running. */
  revive(): void;
};

export type Fleet = {
  daemons: Member[];
  backfill: Member;
  /** `pool refill`, again and again. */
  refill: Member;
  exits: Exit[];
  members(): Member[];
  /** Runs a command to its end, with its output in a log of its own. */
  run(name: string, args: string[]): Promise<Exit & { output: string }>;
  /** From now on no process is restarted. */
  retire(): void;
  killNow(): void;
  /** Ends all remaining processes, and the logs. */
  close(): Promise<void>;
};

const revivePauseMs = 500;
const lastWordsMax = 2_000;
/** The last line of a daemon's start: it has reached its database and its queue. */
const startedLine = '"msg":"status page"';

/** Starts `wallet-ledger start` this number of times, and the one-off commands repeatedly. */
export function startFleet(options: {
  /** The file that Node runs. */
  program: string;
  folder: string;
  daemons: number;
  backfillArgs: string[];
  /** Pause before a one-off command is started again. */
  oneOffPauseMs: number;
  env: Record<string, string>;
  /** Additional environment of one member. */
  envOf(name: string): Record<string, string>;
}): Fleet {
  const exits: Exit[] = [];
  const running = new Set<ChildProcess>();
  const state = { isRetired: false };
  const logs = new Set<WriteStream>();

  function launch(name: string, args: string[], log: WriteStream) {
    const home = join(options.folder, 'home', name);
    mkdirSync(home, { recursive: true });
    const child = spawn(process.execPath, [options.program, ...args], {
      cwd: home,
      env: { PATH: process.env['PATH'] ?? '', HOME: home, ...options.env, ...options.envOf(name) },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    running.add(child);
    const seen = { isStarted: false, words: '', output: '' };
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        log.write(text);
        seen.words = (seen.words + text).slice(-lastWordsMax);
        seen.isStarted ||= seen.words.includes(startedLine);
        if (stream === child.stdout && name === 'verify') seen.output += text;
      });
    }
    const told: { current: Exit['told'] } = { current: null };
    const startedAt = Date.now();
    const ended = new Promise<Exit & { output: string }>((done) => {
      child.on('error', (error) => log.write(`${error}\n`));
      child.on('close', (code, signal) => {
        running.delete(child);
        done({
          member: name,
          command: args.join(' '),
          pid: child.pid ?? 0,
          startedAt,
          endedAt: Date.now(),
          code,
          signal,
          told: told.current,
          wasStarted: seen.isStarted,
          lastWords: seen.words,
          output: seen.output,
        });
      });
    });
    return { child, ended, told, isStarted: () => seen.isStarted };
  }

  function logOf(name: string): WriteStream {
    const log = createWriteStream(join(options.folder, `${name}.log`), { flags: 'a' });
    logs.add(log);
    return log;
  }

  /** Not started before its first `revive`. */
  function enlist(name: string, args: string[], pauseMs: number): Member {
    const log = logOf(name);
    let current: ReturnType<typeof launch> | undefined;
    const revive = () => {
      if (current || state.isRetired) return;
      const own = launch(name, args, log);
      current = own;
      void own.ended.then(async ({ output: _, ...exit }) => {
        exits.push(exit);
        current = undefined;
        // The code that ended it starts it again.
        if (exit.told) return;
        await delay(pauseMs);
        revive();
      });
    };
    return {
      name,
      pid: () => current?.child.pid,
      isStarted: () => current?.isStarted() ?? false,
      revive,
      async end(signal) {
        const own = current;
        if (!own) return undefined;
        own.told.current ??= { signal, at: Date.now() };
        own.child.kill(signal);
        return await own.ended;
      },
      async freeze(forMs) {
        const own = current;
        own?.child.kill('SIGSTOP');
        await delay(forMs);
        own?.child.kill('SIGCONT');
      },
    };
  }

  const daemons = Array.from({ length: options.daemons }, (_, index) =>
    enlist(`daemon-${index + 1}`, ['start'], revivePauseMs),
  );
  const backfill = enlist('backfill', options.backfillArgs, options.oneOffPauseMs);
  const refill = enlist('refill', ['pool', 'refill'], options.oneOffPauseMs);
  // `pool refill` needs a schema, which these commands create.
  for (const member of [...daemons, backfill]) member.revive();
  return {
    daemons,
    backfill,
    refill,
    exits,
    members: () => [...daemons, backfill, refill],
    async run(name, args) {
      return await launch(name, args, logOf(name)).ended;
    },
    retire() {
      state.isRetired = true;
    },
    killNow() {
      for (const child of running) child.kill('SIGKILL');
    },
    async close() {
      state.isRetired = true;
      await Promise.all([...running].map((child) => stopChild(child, 'SIGKILL')));
      await Promise.all([...logs].map((log) => new Promise<void>((done) => log.end(done))));
    },
  };
}
