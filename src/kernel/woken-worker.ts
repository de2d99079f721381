import { toError } from './errors.ts';

export type WokenWorker = {
  wake(): void;
  /** Ends after the run in progress. */
  stop(): Promise<void>;
};

/** Runs `work` when woken, one run at a time. A call during a run causes another run after it. */
export function createWokenWorker(
  work: () => Promise<void>,
  onError: (error: Error) => void,
): WokenWorker {
  let isWoken = false;
  let isStopped = false;
  let running: Promise<void> | null = null;
  const run = async () => {
    while (isWoken && !isStopped) {
      isWoken = false;
      await work().catch((error) => onError(toError(error)));
    }
    running = null;
  };
  return {
    wake() {
      isWoken = true;
      if (!isStopped) running ??= run();
    },
    async stop() {
      isStopped = true;
      await running;
    },
  };
}
