import type { TransactionType } from '../../kernel/vocabulary.ts';
import { hash32, purpose } from '../seeded-hash.ts';
import { type Asset, parseUnits } from '../world/wallet-assets.ts';
import { drawFate, drawFee, drawLifeMs, drawUnits } from './draw-movement.ts';
import type { Transfer } from './internal-transfers.ts';
import type { NewMovement } from './row-store.ts';
import type { Treasury } from './treasury.ts';

/** Required properties of a new transaction; the others are drawn from the seed. */
export type TransactionWish = {
  type?: TransactionType;
  /** State that the row has from the start and keeps. */
  state?: string;
  toAddress?: string;
  /** Coin of a deposit. Without `slip44` the first chain that has it; withdrawals ignore it. */
  symbol?: string;
  slip44?: number;
  /** Amount of a deposit as decimal text in units of its coin, such as "1.5"; needs `symbol`. */
  amount?: string;
};

export type Inventor = {
  seed: number;
  /** Average time to the final state, in milliseconds. */
  settleMs: number;
  assets: readonly Asset[];
  treasury: Treasury;
  /** Number of deposit addresses on a chain. */
  addressCount(slip44: number): number;
};

/** Creates the movement number `ordinal`. Throws when a withdrawal is required and no coin covers one. */
export function inventMovement(
  inventor: Inventor,
  ordinal: number,
  time: number,
  wish: TransactionWish,
): NewMovement {
  const { type, state, toAddress } = wish;
  const exception = { ...(state && { forcedState: state }), ...(toAddress && { toAddress }) };
  const wantsOut = hash32(inventor.seed, purpose.direction, ordinal) % 10 < 4;
  if (type === 'withdraw' || (type === undefined && wantsOut)) {
    const withdrawal = tryWithdrawal(inventor, ordinal, time, type === 'withdraw');
    if (withdrawal) return { ...withdrawal, ...exception };
    if (type) throw new Error('no coin covers a withdrawal: add deposits first');
  }
  return { ...inventDeposit(inventor, ordinal, time, wish), ...exception };
}

/** Creates the deposit number `ordinal` that receives a transfer from another wallet. */
export function receiveTransfer(
  { seed, settleMs, treasury }: Inventor,
  ordinal: number,
  time: number,
  { asset, units, addressIndex, origin }: Transfer,
): NewMovement {
  treasury.receive(asset, units, time + drawLifeMs(seed, ordinal, settleMs));
  return { type: 'deposit', asset, time, addressIndex, units, origin };
}

function inventDeposit(
  inventor: Inventor,
  ordinal: number,
  time: number,
  { state, symbol, slip44, amount }: TransactionWish,
): NewMovement {
  const { seed, settleMs, treasury } = inventor;
  const asset =
    symbol === undefined ? drawAsset(inventor, ordinal, 0) : findAsset(inventor, symbol, slip44);
  const wanted = amount === undefined || symbol === undefined ? null : parseUnits(amount, asset);
  if ((state ?? drawFate(seed, ordinal, 'deposit')) === 'success') {
    const units = wanted ?? drawUnits(seed, ordinal, 'deposit', asset);
    treasury.receive(asset, units, time + drawLifeMs(seed, ordinal, settleMs));
  }
  const count = inventor.addressCount(asset.chain.slip44);
  const addressIndex = count === 0 ? null : hash32(seed, purpose.depositAddress, ordinal) % count;
  return { type: 'deposit', asset, time, addressIndex, ...(wanted !== null && { units: wanted }) };
}

// A required withdrawal may use any coin, and deposits that are not final yet.
function tryWithdrawal(
  inventor: Inventor,
  ordinal: number,
  time: number,
  isAskedFor: boolean,
): NewMovement | null {
  const { seed, treasury, assets } = inventor;
  const asOf = isAskedFor ? Number.POSITIVE_INFINITY : time;
  for (let i = 0; i < (isAskedFor ? assets.length : 1); i++) {
    const asset = drawAsset(inventor, ordinal, i);
    const wanted = drawUnits(seed, ordinal, 'withdraw', asset);
    const units = treasury.withdraw(asset, wanted, drawFee(seed, ordinal, asset.chain), asOf);
    if (units === null) continue;
    const movement: NewMovement = { type: 'withdraw', asset, time, addressIndex: null };
    return units === wanted ? movement : { ...movement, units };
  }
  return null;
}

function findAsset({ assets }: Inventor, symbol: string, slip44: number | undefined): Asset {
  const asset = assets.find(
    (each) => each.symbol === symbol && (slip44 ?? each.chain.slip44) === each.chain.slip44,
  );
  if (asset) return asset;
  const known = assets.map((each) => `${each.symbol} on chain ${each.chain.slip44}`).join(', ');
  throw new Error(`the sandbox has no coin ${symbol}; it has ${known}`);
}

function drawAsset({ seed, assets }: Inventor, ordinal: number, offset: number): Asset {
  const asset = assets[(hash32(seed, purpose.asset, ordinal) + offset) % assets.length];
  if (asset === undefined) throw new Error('the sandbox needs at least one supported chain');
  return asset;
}
