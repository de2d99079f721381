/** Page sizes between passes; times in Unix ms. */
type RememberedSize = { requestedPageSize: number; sizeReducedAt: number | null };

const probeEveryMs = 86_400_000;

/**
 * Returns the configured size if it should be tried once before the stored one: a day after the service last refused
 * it. Returns undefined if there is nothing to try. Pure.
 */
export function probeSize(
  { requestedPageSize, sizeReducedAt }: RememberedSize,
  configured: number,
  now: number,
): number | undefined {
  const isDue = sizeReducedAt === null || now - sizeReducedAt >= probeEveryMs;
  return requestedPageSize < configured && isDue ? configured : undefined;
}

/**
 * Returns the sizes to store after a pass. `used` is the size that the reader reports; `isProbed`: it tried the
 * configured size. Pure.
 */
export function rememberedSize(
  before: RememberedSize,
  { used, isProbed }: { used: number; isProbed: boolean },
  configured: number,
  now: number,
): RememberedSize {
  if (used >= configured) return { requestedPageSize: used, sizeReducedAt: null };
  const isNewlyReduced =
    isProbed || used < before.requestedPageSize || before.sizeReducedAt === null;
  return { requestedPageSize: used, sizeReducedAt: isNewlyReduced ? now : before.sizeReducedAt };
}
