import type { Reject } from '../../kernel/wallet-records.ts';

const keyFields: (string | null)[] = [null, 'slip44', 'symbol', 'contractAddress'];

/** How many rows of a balance or coin answer could not be stored at all, for want of a key of their own. */
export function unstoredRows(rejects: Reject[]): number {
  return rejects.filter(({ field }) => keyFields.includes(field)).length;
}
