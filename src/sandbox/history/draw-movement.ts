import type { TransactionType } from '../../kernel/vocabulary.ts';
import { fraction, hash32, purpose } from '../seeded-hash.ts';
import type { Asset, Chain } from '../world/wallet-assets.ts';
/** Draws properties of a movement from the seed and its ordinal alone, so that they need not be stored. */
import type { Movement } from './movement.ts';

/**
 * Draws an amount of at most about 50 coins, in steps of a millionth, half of that for a withdrawal. One in four uses
 * all decimals.
 */
export function drawUnits(
  seed: number,
  ordinal: number,
  type: TransactionType,
  { decimals }: Asset,
): bigint {
  const step = 10n ** BigInt(decimals - 6);
  const units = BigInt(2 + (hash32(seed, purpose.units, ordinal) % 50_000_000)) * step;
  const dust = hash32(seed, purpose.dust, ordinal);
  const exact = dust % 4 === 0 ? units + (BigInt(dust) % step) : units;
  return type === 'deposit' ? exact : exact / 2n;
}

/** Draws the fee of a withdrawal, in smallest units of the chain's coin. */
export function drawFee(seed: number, ordinal: number, chain: Chain): bigint {
  return chain.feeUnits * BigInt(1 + (hash32(seed, purpose.fee, ordinal) % 7));
}

/** Draws the outcome: 10 of 1,000 deposits fail; 20 of 1,000 withdrawals fail and 15 are rejected. */
export function drawFate(seed: number, ordinal: number, type: TransactionType): Movement['fate'] {
  const draw = hash32(seed, purpose.fate, ordinal) % 1_000;
  if (type === 'deposit') return draw < 10 ? 'failed' : 'success';
  if (draw < 20) return 'failed';
  return draw < 35 ? 'rejected' : 'success';
}

/** Draws the time from the creation of a movement to its final state, in milliseconds. */
export function drawLifeMs(seed: number, ordinal: number, settleMs: number): number {
  return Math.round(settleMs * (0.5 + fraction(seed, purpose.life, ordinal)));
}
