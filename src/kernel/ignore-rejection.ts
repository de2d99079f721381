/** Prevents an unhandledRejection if the promise rejects before a caller awaits it; returns the same promise. */
export function ignoreRejection<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}
