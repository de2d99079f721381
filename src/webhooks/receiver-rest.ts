/** Failed attempts in a row after which a receiver counts as down. */
const failuresMax = 8;
const restMaxMs = 10_000;

export type ReceiverRest = {
  /** Records the outcome of an attempt. Returns the pause (ms) before the next one. */
  note(isAccepted: boolean): number;
  isResting(): boolean;
  /** Returns true while attempts only fail, so that further ones only find out when that ends. */
  isDown(): boolean;
};

/**
 * Decides how long to wait before the next attempt at a receiver that accepts nothing: as long as its failures have
 * lasted, and at most 10 s. Without this, thousands of waiting events would take the queue's time from the other
 * receivers.
 */
export function createReceiverRest(now: () => number): ReceiverRest {
  let failures = 0;
  let failingSince = 0;
  let restsUntil = Number.NEGATIVE_INFINITY;
  const isDown = () => failures >= failuresMax;

  return {
    note(isAccepted) {
      if (isAccepted) {
        failures = 0;
        restsUntil = Number.NEGATIVE_INFINITY;
        return 0;
      }
      if (failures === 0) failingSince = now();
      failures += 1;
      const restMs = isDown() ? Math.min(restMaxMs, now() - failingSince) : 0;
      restsUntil = now() + restMs;
      return restMs;
    },
    isResting: () => now() < restsUntil,
    isDown,
  };
}
