/** Distinct addresses of an answer: all, those not known before, and the keys of those that joined the pool. */
export type Came = { came: number; fresh: number; keys: string[] };

/** An answer without an address. */
export const nothingCame: Came = { came: 0, fresh: 0, keys: [] };

/** Describes what came and what was done with it, for an answer that did not bring what was requested. */
export function describeShortfall(num: number, came: Came, unshown = 0): string {
  const brought = describeCame(num, came);
  return unshown > 0
    ? `${brought}, and ${unshown} that the list of this chain does not show`
    : brought;
}

function describeCame(num: number, { came, fresh, keys }: Came): string {
  const requested = `${num} ${num === 1 ? 'address was' : 'addresses were'} requested`;
  if (came === 0) return `${requested}, and no usable one came`;
  if (fresh === 0) return `${requested}; ${came} came, all known before: none joined the pool`;
  const known = came > fresh ? ` and ${came - fresh} known before` : '';
  const brought = `${requested}; ${fresh} new ${fresh === 1 ? 'one' : 'ones'}${known} came`;
  if (fresh > num && keys.length === 0)
    return `${brought}: there is no proof which of them are ours, so all stay foreign`;
  const refused = fresh - keys.length;
  return refused > 0 ? `${brought}: ${refused} refused as no addresses of the chain` : brought;
}
