/**
 * Runs `work` with a signal that aborts as soon as one of the given ones does, with its reason. Nothing stays attached
 * to them afterwards: AbortSignal.any would leave an entry at a signal that lives as long as the process.
 */
export async function withAnySignal<T>(
  signals: readonly (AbortSignal | undefined)[],
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const any = new AbortController();
  const given = signals.filter((signal) => signal !== undefined);
  const abort = () => any.abort(given.find(({ aborted }) => aborted)?.reason);
  for (const signal of given) signal.addEventListener('abort', abort, { once: true });
  if (given.some(({ aborted }) => aborted)) abort();
  try {
    return await work(any.signal);
  } finally {
    for (const signal of given) signal.removeEventListener('abort', abort);
  }
}
