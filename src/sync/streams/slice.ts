/** Interval (ms) at which a scan checks if a poll waits for the list. */
const listenMs = 50;

/**
 * Measures how long a scan may keep the list: `sliceMs`, or until a poll has a wish for it; null: as long as it takes.
 * `listen` checks for wishes from time to time. The time of `pause` does not count, because nothing is read meanwhile.
 */
export function createSlice(sliceMs: number | null, isWished: () => Promise<boolean>) {
  if (sliceMs === null) {
    return {
      isOver: () => false,
      listen: async () => undefined,
      pause: (wait: Promise<void>) => wait,
    };
  }
  let endsAt = performance.now() + sliceMs;
  let listensAt = performance.now() + listenMs;
  return {
    isOver: () => performance.now() > endsAt,
    async listen() {
      if (performance.now() < listensAt) return;
      listensAt = performance.now() + listenMs;
      if (await isWished()) endsAt = Number.NEGATIVE_INFINITY;
    },
    async pause(wait: Promise<void>) {
      const beganAt = performance.now();
      await wait;
      endsAt += performance.now() - beganAt;
    },
  };
}
