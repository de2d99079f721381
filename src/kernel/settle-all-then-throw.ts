/**
 * Like Promise.all, but rejects only after every promise has settled, so no work is still running when the caller sees
 * the error.
 */
export async function settleAllThenThrow<T>(promises: Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(promises);
  return await Promise.all(promises);
}
