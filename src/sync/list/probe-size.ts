/** Page sizes as they stand between passes; times in Unix ms. */
type RememberedSize = { requestedPageSize: number; sizeReducedAt: number | null };

const probeEveryMs = 86_400_000;

/**
 * The size to try once before the remembered one: the configured size, a day after it was found too
 * large. Undefined while there is nothing to try. Pure.
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
 * What to remember of the sizes after a pass. `used` is the reader's own word, `isProbed` whether
 * the configured size was tried. Pure.
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
