import { LedgerError } from '../../kernel/errors.ts';

/**
 * Runs work that has to end within `ms` milliseconds, its reading of the answer's body included. Throws
 * service-unreachable at the deadline, or the caller's own reason when the caller's signal aborts first.
 */
export async function withDeadline<T>(
  ms: number,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  // Not AbortSignal.any: it would hold on to the caller's signal, which lives as long as the process.
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
    // What the work throws when it is aborted only echoes the reason.
    controller.signal.throwIfAborted();
    throw error;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', follow);
  }
}
