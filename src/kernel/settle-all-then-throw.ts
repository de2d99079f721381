/** The values of all promises, once each has ended: nothing goes on behind the back of who is told of a failure. */
export async function settleAllThenThrow<T>(promises: Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(promises);
  return await Promise.all(promises);
}
