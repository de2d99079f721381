/** The history that the static service serves: each row is a function of its ordinal, the same in every run. */
import { createHash } from 'node:crypto';

export const staticTypes = ['deposit', 'withdraw'] as const;

export type StaticType = (typeof staticTypes)[number];

/** List form of a transaction (docs/wallet-service-api.md, section 2.4). */
export type StaticRow = {
  orderNo: string;
  requestId: string;
  symbol: string;
  txHash: string;
  fromAddress: string;
  toAddress: string;
  amount: string;
  type: StaticType;
  state: string;
  time: number;
};

const firstTime = Date.UTC(2024, 0, 1);
const everyMs = 20_000;
const ordinalDigits = 7;
/** Every fourth movement is a withdrawal. */
const withdrawEvery = 4;
const depositAddresses = 20_000;
const symbols = ['BTC', 'ETH', 'USDT', 'TRX'];
const hotAddress = `0x${'c0ffee'.repeat(7).slice(0, 40)}`;

/** `ordinal` counts from 0 in the order of time. */
export function staticRow(ordinal: number): StaticRow {
  const hex = sha256(`row ${ordinal}`);
  const type = typeAt(ordinal);
  const theirs = `0x${sha256(`theirs ${ordinal}`).slice(0, 40)}`;
  const ours = `0x${sha256(`ours ${Number.parseInt(hex.slice(0, 8), 16) % depositAddresses}`).slice(0, 40)}`;
  const parties =
    type === 'deposit'
      ? { fromAddress: theirs, toAddress: ours }
      : { fromAddress: hotAddress, toAddress: theirs };
  const time = firstTime + ordinal * everyMs;
  return {
    orderNo: `${time}${String(ordinal).padStart(ordinalDigits, '0')}`,
    requestId: type === 'deposit' ? '' : uuidOf(hex),
    symbol: symbols[ordinal % symbols.length] ?? '',
    txHash: `0x${hex}`,
    ...parties,
    amount: `${Number.parseInt(hex.slice(8, 12), 16)}.${BigInt(`0x${hex.slice(12, 24)}`)}`,
    type,
    state: ordinal % 50 === 0 ? 'failed' : 'success',
    time,
  };
}

/** The coins of these rows (docs/wallet-service-api.md, section 2.6), each on one chain. */
export const staticCoins = [
  { symbol: 'BTC', slip44: 0, contractAddress: null },
  { symbol: 'ETH', slip44: 60, contractAddress: null },
  { symbol: 'USDT', slip44: 60, contractAddress: `0x${'da'.repeat(20)}` },
  { symbol: 'TRX', slip44: 195, contractAddress: null },
].map((coin) => ({ ...coin, name: coin.symbol, decimal: 18, depositState: 1, withdrawState: 1 }));

/** The same row as the detail endpoint returns it (docs/wallet-service-api.md, section 2.3). */
export function staticDetail(orderNo: string): object {
  const row = staticRow(Number(orderNo.slice(-ordinalDigits)));
  return { ...row, confirmNum: '64', fee: '0.00021', feeSymbol: 'ETH' };
}

/** Ordinals of one type below `rows`, newest first. */
export function ordinalsOf(type: StaticType, rows: number): number[] {
  const ordinals: number[] = [];
  for (let ordinal = rows - 1; ordinal >= 0; ordinal -= 1) {
    if (typeAt(ordinal) === type) ordinals.push(ordinal);
  }
  return ordinals;
}

function typeAt(ordinal: number): StaticType {
  return ordinal % withdrawEvery === 0 ? 'withdraw' : 'deposit';
}

function uuidOf(hex: string): string {
  const blocks = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20)];
  return [...blocks, hex.slice(20, 32)].join('-');
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
