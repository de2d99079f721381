import { LedgerError } from '../../kernel/errors.ts';

/**
 * Runs work that must end within `ms` milliseconds, including its reading of the answer's body. Throws
 * service-unreachable at the deadline, or the signal's reason if the caller's signal aborts first.
 */
export async function withDeadline<T>(
  ms: number,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  // Avoids AbortSignal.any, which can leak memory with a caller's signal that lives as long as the process.
  const controller = new AbortController();
  let end = (_reason: unknown) => {};
  const ended = new Promise<never>((_, reject) => {
    end = (reason) => {
      controller.abort(reason);
      reject(controller.signal.reason);
    };
  });
  const timer = setTimeout(() => {
    end(new LedgerError('service-unreachable', `no complete answer within ${ms} ms`));
  }, ms);
  const follow = () => end(signal?.reason);
  signal?.addEventListener('abort', follow, { once: true });
  try {
    return await Promise.race([work(controller.signal), ended]);
  } catch (error) {
    // An error of aborted work only repeats the reason.
    controller.signal.throwIfAborted();
    throw error;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', follow);
  }
}
