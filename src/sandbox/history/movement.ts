import type { TransactionType } from '../../kernel/vocabulary.ts';
import { hash32, purpose, seededText } from '../seeded-hash.ts';
/**
 * Kinds of movements and their states. The state follows from the clock, unless it was set from outside:
 *
 *   deposit    pending ──▶ confirming ─────────────▶ success | failed
 *   withdraw   submitted ─▶ pending ─▶ broadcasting ▶ success | failed
 *                                   └───────────────▶ rejected
 */
import { foreignAddress, hotAddress, ownAddress } from '../world/chain-address.ts';
import { type Asset, decimalText, feeAssetOf } from '../world/wallet-assets.ts';

export type Movement = {
  kind: 'movement';
  /** Position in the order of creation; identifies the movement. */
  ordinal: number;
  type: TransactionType;
  asset: Asset;
  /** Unix milliseconds. */
  time: number;
  units: bigint;
  /** Smallest units of the chain's coin; 0 for a deposit. */
  feeUnits: bigint;
  fate: 'success' | 'failed' | 'rejected';
  /** Unix milliseconds from which the fate is the state. */
  settledAt: number;
  toAddress: string | null;
  /** Number of the deposit address that receives it; null for the wallet's collecting address. */
  addressIndex: number | null;
  /** State that was set from outside and does not change any more. */
  forcedState: string | null;
  /** Withdrawal of another wallet that this deposit receives: the seed of that wallet, and the ordinal. */
  origin: { seed: number; ordinal: number } | null;
};

/** Detail form of a transaction (docs/wallet-service-api.md, section 2.3). */
export type TransactionDetail = {
  orderNo: string;
  symbol: string;
  txHash: string;
  requestId: string;
  fromAddress: string;
  toAddress: string;
  amount: string;
  type: TransactionType;
  state: string;
  confirmNum: string;
  fee: string;
  feeSymbol: string;
  time: number;
};

const stages = {
  deposit: [
    { from: 0.2, state: 'confirming' },
    { from: Number.NEGATIVE_INFINITY, state: 'pending' },
  ],
  withdraw: [
    { from: 0.4, state: 'broadcasting' },
    { from: 0.2, state: 'pending' },
    { from: Number.NEGATIVE_INFINITY, state: 'submitted' },
  ],
} as const;

const statesOnTheWay = new Set(['pending', 'confirming', 'submitted', 'broadcasting']);
const statesOffChain = new Set(['submitted', 'pending', 'rejected']);
const statesWithoutFee = new Set(['failed', 'rejected']);

/** Returns true if a movement in this state will still change. */
export function isOnTheWay(state: string): boolean {
  return statesOnTheWay.has(state);
}

/** Returns the state at `now`, Unix milliseconds. */
export function stateAt(movement: Movement, now: number): string {
  if (movement.forcedState !== null) return movement.forcedState;
  if (now >= movement.settledAt) return movement.fate;
  const progress = progressAt(movement, now);
  const stage = stages[movement.type].find((s) => progress >= s.from);
  const state = stage?.state ?? 'pending';
  return state === 'broadcasting' && movement.fate === 'rejected' ? 'pending' : state;
}

/** Returns the detail form at `now`, Unix milliseconds. */
export function detailAt(seed: number, movement: Movement, now: number): TransactionDetail {
  const { asset, ordinal, type } = movement;
  const state = stateAt(movement, now);
  const feeAsset = type === 'deposit' ? asset : feeAssetOf(asset);
  const isOnChain = type === 'deposit' || !statesOffChain.has(state);
  return {
    orderNo: orderNoOf(seed, ordinal),
    symbol: asset.symbol,
    txHash: isOnChain ? txHashOf(seed, movement) : '',
    requestId: type === 'deposit' ? '' : requestIdOf(seed, ordinal),
    ...partiesOf(seed, movement),
    amount: decimalText(movement.units, asset.decimals),
    type,
    state,
    confirmNum: String(confirmationsAt(movement, state, now)),
    fee: statesWithoutFee.has(state) ? '0' : decimalText(movement.feeUnits, feeAsset.decimals),
    feeSymbol: feeAsset.symbol,
    time: movement.time,
  };
}

/** Returns 20 digits, more than a double can hold; the last ten are the ordinal. */
export function orderNoOf(seed: number, ordinal: number): string {
  const head = String(hash32(seed, purpose.orderNo, ordinal)).padStart(10, '0');
  return head + String(ordinal).padStart(10, '0');
}

/** Returns a UUID whose last block is the ordinal. */
export function requestIdOf(seed: number, ordinal: number): string {
  const hex = seededText(seed, purpose.requestId, ordinal, '0123456789abcdef', 14);
  const tail = ordinal.toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(11, 14)}-a${hex.slice(9, 12)}-${tail}`;
}

function progressAt(movement: Movement, now: number): number {
  return (now - movement.time) / (movement.settledAt - movement.time);
}

function confirmationsAt(movement: Movement, state: string, now: number): number {
  const needed = movement.asset.chain.confirmations;
  if (state === 'success') return needed;
  const isCounting = state === 'confirming' || state === 'broadcasting';
  if (!isCounting || movement.forcedState !== null) return 0;
  return Math.floor(needed * progressAt(movement, now));
}

function txHashOf(seed: number, { ordinal, asset, origin }: Movement): string {
  const sent = origin ?? { seed, ordinal };
  const hex = seededText(sent.seed, purpose.txHash, sent.ordinal, '0123456789abcdef', 64);
  return asset.chain.symbol === 'ETH' ? `0x${hex}` : hex;
}

function partiesOf(seed: number, movement: Movement) {
  const { chain } = movement.asset;
  const theirs = foreignAddress(seed, chain, movement.ordinal);
  const hot = hotAddress(chain);
  if (movement.type === 'withdraw') {
    return { fromAddress: hot, toAddress: movement.toAddress ?? theirs };
  }
  const ours =
    movement.addressIndex === null ? hot : ownAddress(seed, chain, movement.addressIndex);
  return { fromAddress: movement.origin ? hot : theirs, toAddress: movement.toAddress ?? ours };
}
