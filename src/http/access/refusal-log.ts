import type { Log } from '../../kernel/log.ts';

export type RefusalLog = {
  note(address: string): void;
  /** Logs the pending count and stops the timer. */
  close(): void;
};

const everyMs = 60_000;
const addressesMax = 1_000;

/**
 * Logs the first refusal at once and further ones as one counted line per minute, so that guessing tokens cannot fill
 * the disk. `what` is what the token guards.
 */
export function createRefusalLog(log: Log, what = 'the status pages'): RefusalLog {
  let count = 0;
  let addresses = new Set<string>();
  let timer: NodeJS.Timeout | undefined;

  function flush(): void {
    if (count > 0) {
      const [address] = addresses;
      log.warn(
        { count, addresses: addresses.size, address },
        `wrong tokens for ${what} were refused in the last minute`,
      );
    }
    count = 0;
    addresses = new Set();
  }

  function tick(): void {
    timer = count > 0 ? startTimer() : undefined;
    flush();
  }

  function startTimer(): NodeJS.Timeout {
    return setTimeout(tick, everyMs).unref();
  }

  return {
    note(address) {
      if (timer === undefined) {
        log.warn({ address }, `a wrong token for ${what} was refused`);
        timer = startTimer();
        return;
      }
      count += 1;
      if (addresses.size < addressesMax) addresses.add(address);
    },
    close() {
      clearTimeout(timer);
      timer = undefined;
      flush();
    },
  };
}
