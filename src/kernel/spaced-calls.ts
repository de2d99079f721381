export type SpacedCalls = {
  /** Calls at once if the last call is long enough ago; otherwise causes one call at the end of that time. */
  call(): void;
  /** Drops a call that is due. */
  stop(): void;
};

/** Calls `work` at most once in `everyMs`, however often `call` is called, and at least once after each call. */
export function spaceCalls(work: () => void, everyMs: number): SpacedCalls {
  let isDue = false;
  let timer: NodeJS.Timeout | undefined;

  function run(): void {
    isDue = false;
    timer = setTimeout(() => {
      timer = undefined;
      if (isDue) run();
    }, everyMs).unref();
    work();
  }

  return {
    call() {
      isDue = true;
      if (timer === undefined) run();
    },
    stop() {
      clearTimeout(timer);
      timer = undefined;
      isDue = false;
    },
  };
}
