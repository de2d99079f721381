import { setMaxListeners } from 'node:events';
import type { SandboxStats } from './sandbox-stats.ts';
import type { WalletWorld } from './world/wallet-world.ts';

const lookEveryMs = 20;
const inFlightMax = 8;
const waitingMax = 1_000;
const answerMs = 5_000;

/**
 * POSTs a hint to `url` for each transaction that is new or changed from now on, with its order number. Does not repeat
 * a push that failed; counts it. Returns the function that ends it.
 */
export function pushChanges(
  world: Pick<WalletWorld, 'takeChanges'>,
  stats: SandboxStats,
  url: string,
): () => void {
  const closing = new AbortController();
  setMaxListeners(0, closing.signal);
  let waiting: string[] = [];
  let inFlight = 0;
  world.takeChanges();

  async function push(orderNo: string): Promise<void> {
    inFlight += 1;
    try {
      const answer = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ orderNo }),
        signal: AbortSignal.any([closing.signal, AbortSignal.timeout(answerMs)]),
      });
      await answer.body?.cancel();
      stats.pushes[answer.ok ? 'sent' : 'failed'] += 1;
    } catch {
      stats.pushes.failed += 1;
    }
    inFlight -= 1;
    pushWaiting();
  }

  function pushWaiting(): void {
    while (inFlight < inFlightMax && !closing.signal.aborted) {
      const orderNo = waiting.shift();
      if (orderNo === undefined) return;
      void push(orderNo);
    }
  }

  const looking = setInterval(() => {
    const all = [...waiting, ...world.takeChanges()];
    waiting = all.slice(0, waitingMax);
    stats.pushes.failed += all.length - waiting.length;
    pushWaiting();
  }, lookEveryMs);
  return () => {
    clearInterval(looking);
    closing.abort();
  };
}
