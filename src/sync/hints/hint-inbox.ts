import { abortableSleep } from '../../kernel/abortable-sleep.ts';
import { toError } from '../../kernel/errors.ts';
import type { Log } from '../../kernel/log.ts';

/** `accepted`: the hint is passed on to the database. `coalesced`: it joined one that waits for that. */
type HintOutcome = 'accepted' | 'coalesced';

export type HintInbox = {
  /** Takes a hint; never waits and never throws. */
  hint(orderNos: readonly string[]): HintOutcome;
  /** Stores the waiting hints, and accepts no more. */
  close(): Promise<void>;
};

/** Milliseconds between two writes, whatever the number of hints. */
const everyMs = 100;
const retryMs = 1_000;
const closeMs = 1_000;
/** Upper bound of the order numbers that wait; further ones are dropped, but the hint to read the lists stays. */
const orderNosMax = 200;

/**
 * Passes hints on to the database: the first one at once, those that come meanwhile together. Retries while the
 * database fails, so that no hint is lost. `onStored` is called after each write.
 */
export function createHintInbox(options: {
  store(orderNos: readonly string[]): Promise<void>;
  onStored(): void;
  log: Log;
}): HintInbox {
  const { store, onStored, log } = options;
  const closing = new AbortController();
  const { signal } = closing;
  /** Order numbers of the hints that wait; null: no hint waits. */
  let waiting: Set<string> | null = null;
  let passing: Promise<void> | null = null;
  let isFailing = false;

  async function passOn(): Promise<void> {
    while (waiting) {
      const isStored = await storeOne(waiting);
      if (signal.aborted && !isStored) return;
      await abortableSleep(isStored ? everyMs : retryMs, signal).catch(() => undefined);
    }
  }

  async function storeOne(orderNos: Set<string>): Promise<boolean> {
    waiting = null;
    try {
      await store([...orderNos]);
    } catch (thrown) {
      waiting = join(orderNos, waiting ?? []);
      if (!isFailing) log.warn({ error: toError(thrown) }, 'a hint cannot be stored; retrying');
      isFailing = true;
      return false;
    }
    onStored();
    if (isFailing) log.info({}, 'hints can be stored again');
    isFailing = false;
    return true;
  }

  return {
    hint(orderNos) {
      if (signal.aborted) return 'coalesced';
      const outcome = waiting === null ? 'accepted' : 'coalesced';
      waiting = join(waiting ?? new Set(), orderNos);
      passing ??= passOn().finally(() => {
        passing = null;
      });
      return outcome;
    },
    async close() {
      closing.abort();
      if (passing === null) return;
      const given = new AbortController();
      const passed = passing.finally(() => given.abort());
      await Promise.race([passed, abortableSleep(closeMs, given.signal)]).catch(() => undefined);
    },
  };
}

/** Adds order numbers up to the bound. */
function join(all: Set<string>, more: Iterable<string>): Set<string> {
  for (const orderNo of more) {
    if (all.size >= orderNosMax) break;
    all.add(orderNo);
  }
  return all;
}
