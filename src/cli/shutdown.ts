import { LedgerError, toError } from '../kernel/errors.ts';
import type { Log } from '../kernel/log.ts';

/**
 * Shutdown of a command. A termination signal aborts `signal`; running work stops at its next checkpoint, and the
 * command returns and calls `close`. If that exceeds the grace period, or a second signal arrives, the process exits.
 */
export type Shutdown = {
  /** Aborts with a LedgerError `interrupted` on a termination signal. */
  signal: AbortSignal;
  /**
   * Registers a resource for `close`; the last one registered is closed first. `cut` is called when most of the grace
   * period is over, even while another resource is being closed: it makes everything that waits for the resource fail.
   */
  add(name: string, close: () => unknown, cut?: () => void): void;
  /** Closes everything, once. A failure to close is logged, and the rest is still closed. */
  close(): Promise<void>;
};

const terminationSignals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

/**
 * Returns 130 for Ctrl-C, as a shell reports it. A signal from a supervisor counts as a failure that a restart may
 * cure.
 */
function exitCodeOf(signal: NodeJS.Signals): number {
  return signal === 'SIGINT' ? 130 : 1;
}

/** Grace period below the 30 s after which supervisors usually kill a process. */
const defaultGraceMs = 25_000;
/** Part of the grace period after which the resources are cut. */
const patience = 0.75;

/** Handles the termination signals of `host`, the process, from here until `close` has finished. */
export function createShutdown(options: {
  log: Log;
  host: Pick<NodeJS.Process, 'on' | 'off' | 'exit'>;
  graceMs?: number;
}): Shutdown {
  const { log, host, graceMs = defaultGraceMs } = options;
  const controller = new AbortController();
  const closers: { name: string; close: () => unknown }[] = [];
  const cuts: (() => void)[] = [];
  let current = 'running work';
  let stoppedBy: NodeJS.Signals | null = null;
  let deadlines: NodeJS.Timeout[] | undefined;
  let closed: Promise<void> | undefined;

  const startDeadlines = () => {
    deadlines ??= [
      setTimeout(() => {
        if (cuts.length > 0) log.warn({ waitingFor: current }, 'slow to stop; cutting connections');
        for (const cut of cuts) cut();
      }, graceMs * patience),
      setTimeout(() => {
        log.error({ graceMs, waitingFor: current }, 'did not stop in time; exiting');
        host.exit(stoppedBy === null ? 1 : exitCodeOf(stoppedBy));
      }, graceMs),
    ];
  };
  const onSignal = (name: NodeJS.Signals) => {
    if (controller.signal.aborted) {
      log.warn({ signal: name }, 'second stop signal; exiting at once');
      host.exit(exitCodeOf(name));
      return;
    }
    stoppedBy = name;
    log.info({ signal: name }, 'stopping');
    startDeadlines();
    controller.abort(
      new LedgerError('interrupted', `stopped by ${name}`, { exitCode: exitCodeOf(name) }),
    );
  };
  const closeAll = async () => {
    startDeadlines();
    for (let closer = closers.pop(); closer; closer = closers.pop()) {
      current = closer.name;
      try {
        await closer.close();
      } catch (error) {
        log.error({ error: toError(error), closing: closer.name }, 'closing failed');
      }
    }
    for (const deadline of deadlines ?? []) clearTimeout(deadline);
    for (const name of terminationSignals) host.off(name, onSignal);
  };

  for (const name of terminationSignals) host.on(name, onSignal);
  return {
    signal: controller.signal,
    add(name, close, cut) {
      closers.push({ name, close });
      if (cut) cuts.push(cut);
    },
    close: () => {
      closed ??= closeAll();
      return closed;
    },
  };
}
