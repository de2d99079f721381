import { setMaxListeners } from 'node:events';
import { abortableSleep } from '../kernel/abortable-sleep.ts';
import { carriesToken } from './check-token.ts';

/** `busy`: so many wrong tokens of this address wait for their answers that this one was not looked at. */
export type TokenVerdict = 'admitted' | 'missing' | 'wrong' | 'busy';

export type TokenGuard = {
  /** Judges a request's Authorization header; resolves late where it is wrong. */
  judge(address: string, authorization: string | undefined): Promise<TokenVerdict>;
  /** Answers at once all those that wait. */
  close(): void;
};

/** What is known of an address: wrong tokens in a row, those that wait for their answers, and the last right one. */
type Guesser = { wrong: number; waiting: number; lastWrongAt: number; lastRightAt: number };

const firstDelayMs = 50;
const delayMaxMs = 5_000;
const waitingMax = 10;
/** After so long without a wrong token an address begins anew; so long a right one vouches for its address. */
const memoryMs = 10 * 60_000;
const addressesMax = 10_000;

/** How late the answer to the nth wrong token in a row is given. */
export function delayAfter(wrong: number): number {
  return Math.min(delayMaxMs, firstDelayMs * 2 ** Math.min(wrong - 1, 20));
}

/**
 * Slows down those who guess the token, per address. A right token is never slowed: behind a proxy everybody has the
 * same address. A guesser that does not wait for its answers is not looked at while too many of them are owed, unless
 * right tokens come from its address, too.
 */
export function createTokenGuard(token: string, now: () => number): TokenGuard {
  const guessers = new Map<string, Guesser>();
  const closing = new AbortController();
  // Every answer that waits listens to it.
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
    // The least recent one is first, and the first to be forgotten.
    guessers.delete(address);
    guessers.set(address, found);
    const [oldest] = guessers.keys();
    if (guessers.size > addressesMax && oldest !== undefined) guessers.delete(oldest);
    return found;
  }

  return {
    async judge(address, authorization) {
      if (authorization === undefined) return 'missing';
      const guesser = guesserAt(address);
      const isVouchedFor = now() - guesser.lastRightAt <= memoryMs;
      if (guesser.waiting >= waitingMax && !isVouchedFor) return 'busy';
      if (carriesToken(authorization, token)) {
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
