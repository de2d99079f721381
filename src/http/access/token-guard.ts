import { setMaxListeners } from 'node:events';
import { abortableSleep } from '../../kernel/abortable-sleep.ts';
import { carriesToken } from './check-token.ts';

/** `busy`: the token was not checked, because too many wrong tokens of its address wait for their answers. */
export type TokenVerdict = 'admitted' | 'missing' | 'wrong' | 'busy';

export type TokenGuard = {
  /** Judges the token of a request, by default its Authorization header; delays the answer to a wrong token. */
  judge(address: string, given: string | undefined): Promise<TokenVerdict>;
  /** Answers all delayed requests at once. */
  close(): void;
};

/**
 * State of an address: wrong tokens in a row, delayed answers, and the times of the last wrong and the last correct
 * token.
 */
type Guesser = { wrong: number; waiting: number; lastWrongAt: number; lastRightAt: number };

const firstDelayMs = 50;
const delayMaxMs = 5_000;
const waitingMax = 10;
/**
 * Time without a wrong token after which an address's count starts again. A correct token also exempts its address from
 * `busy` for this time.
 */
const memoryMs = 10 * 60_000;
const addressesMax = 10_000;

/** Returns the delay in ms for the answer to the nth wrong token in a row. */
export function delayAfter(wrong: number): number {
  return Math.min(delayMaxMs, firstDelayMs * 2 ** Math.min(wrong - 1, 20));
}

/**
 * Delays answers to wrong tokens, per address. A correct token is answered without delay, because all clients behind a
 * proxy share one address. While 10 answers of an address are delayed, its further tokens are refused unchecked, unless
 * a correct token came from it recently. `carries` decides if the given text is the token.
 */
export function createTokenGuard(
  token: string,
  now: () => number,
  carries: (given: string, token: string) => boolean = carriesToken,
): TokenGuard {
  const guessers = new Map<string, Guesser>();
  const closing = new AbortController();
  // Every delayed answer adds a listener.
  setMaxListeners(0, closing.signal);

  function guesserAt(address: string): Guesser {
    const fresh = {
      wrong: 0,
      waiting: 0,
      lastWrongAt: now(),
      lastRightAt: Number.NEGATIVE_INFINITY,
    };
    const found = guessers.get(address) ?? fresh;
    if (now() - found.lastWrongAt > memoryMs) found.wrong = 0;
    // Keeps the map in order of use, so that the least recently used address is evicted first.
    guessers.delete(address);
    guessers.set(address, found);
    const [oldest] = guessers.keys();
    if (guessers.size > addressesMax && oldest !== undefined) guessers.delete(oldest);
    return found;
  }

  return {
    async judge(address, given) {
      if (given === undefined) return 'missing';
      const guesser = guesserAt(address);
      const isTrusted = now() - guesser.lastRightAt <= memoryMs;
      if (guesser.waiting >= waitingMax && !isTrusted) return 'busy';
      if (carries(given, token)) {
        guesser.lastRightAt = now();
        return 'admitted';
      }
      guesser.wrong += 1;
      guesser.lastWrongAt = now();
      guesser.waiting += 1;
      await abortableSleep(delayAfter(guesser.wrong), closing.signal).catch(() => undefined);
      guesser.waiting -= 1;
      return 'wrong';
    },
    close: () => closing.abort(),
  };
}
