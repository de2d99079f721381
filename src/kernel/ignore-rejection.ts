/** The same promise, which may fail before anyone awaits it. */
export function ignoreRejection<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}
