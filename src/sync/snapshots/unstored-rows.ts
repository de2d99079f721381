import type { Reject } from '../../kernel/wallet-records.ts';

const keyFields: (string | null)[] = [null, 'slip44', 'symbol', 'contractAddress'];

/** Counts the rows of a balance or coin answer that cannot be stored at all because they lack a usable key. */
export function unstoredRows(rejects: Reject[]): number {
  return rejects.filter(({ field }) => keyFields.includes(field)).length;
}
