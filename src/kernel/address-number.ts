/** Upper bound of addresses per request (docs/wallet-service-api.md, section 4.1). */
export const numLimit = 200;

/** Words of a refusal that seem to concern the number; the service's document shows no codes. */
const numberWords = /\bnum|limit|exceed|too many|maximum|quota/i;
/** Words of a refusal that concern the pace of requests: a smaller number would not help. */
const paceWords = /\brate\b|frequen|too many requests|too often|slow down|per (second|minute)/i;
/** Refusals in a row after which the number counts as the cause, whatever the message says. */
const doubtedRefusals = 3;

/**
 * Returns the upper bound of the number after the service refused `num`, its `refusals`-th refusal in a row. It is half
 * of `num` if the refusal may concern the number; otherwise there is no new bound.
 */
export function numAfterRefusal(num: number, refusals: number, message: string): number {
  const isNumberDoubted = numberWords.test(message) || refusals >= doubtedRefusals;
  return isNumberDoubted ? Math.max(1, Math.floor(num / 2)) : numLimit;
}

/**
 * Returns the most addresses to request after the service granted `num`: twice the bound if all of it was granted.
 *
 * `refusedAfterGrant`: the smallest number that was refused today right after a smaller one was granted. It is a limit
 * of the service, not a transient fault. `missing`: how many addresses today's answers lacked. The service may have
 * generated them all the same, so they and the next number together stay within `numLimit`.
 */
export function numAfterGrant(
  num: number,
  numMax: number,
  refusedAfterGrant: number | null,
  missing = 0,
): number {
  const doubled = Math.min(numLimit, 2 * numMax);
  const isRefused = refusedAfterGrant !== null && doubled >= refusedAfterGrant;
  const isLimited = isRefused || missing + doubled > numLimit;
  return num < numMax || isLimited ? numMax : doubled;
}

/** Returns the most addresses to request after the answer to a request for `num` was lost. */
export function numAfterLoss(num: number): number {
  return Math.max(1, Math.floor(num / 2));
}

/** Returns true if the service seems to refuse the number itself, and a smaller one may be granted at once. */
export function isNumberRefused(num: number, message: string): boolean {
  return num > 1 && numberWords.test(message) && !paceWords.test(message);
}
