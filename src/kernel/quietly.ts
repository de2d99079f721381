/** The same promise, which may fail before anyone awaits it. */
export function quietly<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}
