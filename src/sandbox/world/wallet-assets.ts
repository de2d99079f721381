/** Coin on a chain. A token's fees are paid in its chain's own coin. */
export type Asset = {
  name: string;
  symbol: string;
  decimals: number;
  chain: Chain;
  /** Null for a chain's own coin. */
  contractAddress: string | null;
  depositState: number;
  withdrawState: number;
};

/** Form of a chain's addresses, each of 20 bytes. */
type AddressShape =
  | { kind: 'hex' }
  | { kind: 'bech32'; prefix: string }
  | { kind: 'base58'; version: number };

export type Chain = {
  slip44: number;
  name: string;
  symbol: string;
  address: AddressShape;
  /** Number of confirmations of a successful transaction. */
  confirmations: number;
  /** Smallest fee of a withdrawal, in smallest units of the chain's coin. */
  feeUnits: bigint;
};

function createChain(
  slip44: number,
  [name, symbol]: [string, string],
  address: AddressShape,
  [confirmations, feeUnits]: [number, bigint],
): Chain {
  return {
    slip44,
    name,
    symbol,
    address,
    confirmations,
    feeUnits,
  };
}

const bitcoin = createChain(0, ['Bitcoin', 'BTC'], { kind: 'bech32', prefix: 'bc' }, [2, 1_200n]);
const litecoin = createChain(2, ['Litecoin', 'LTC'], { kind: 'bech32', prefix: 'ltc' }, [
  6,
  9_000n,
]);
const ethereum = createChain(60, ['Ethereum', 'ETH'], { kind: 'hex' }, [12, 42_000_000_000_123n]);
const tron = createChain(195, ['Tron', 'TRX'], { kind: 'base58', version: 0x41 }, [19, 1_100_000n]);

function createAsset(
  chain: Chain,
  name: string,
  symbol: string,
  decimals: number,
  contractAddress: string | null = null,
): Asset {
  return { name, symbol, decimals, chain, contractAddress, depositState: 1, withdrawState: 1 };
}

/** All coins of the sandbox. USDT and USDC each exist on two chains under one symbol, as in reality. */
export const allAssets: readonly Asset[] = [
  createAsset(bitcoin, 'Bitcoin', 'BTC', 8),
  { ...createAsset(litecoin, 'Litecoin', 'LTC', 8), withdrawState: 0 },
  createAsset(ethereum, 'Ethereum', 'ETH', 18),
  createAsset(ethereum, 'Tether USD', 'USDT', 6, '0xdac17f958d2ee523a2206206994597c13d831ec7'),
  createAsset(ethereum, 'USD Coin', 'USDC', 6, '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48'),
  createAsset(tron, 'Tron', 'TRX', 6),
  createAsset(tron, 'Tether USD', 'USDT', 6, 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t'),
  createAsset(tron, 'USD Coin', 'USDC', 6, 'TEkxiTehnzSmSe2XqrBj4w32RUN966rdz8'),
];

const feeAssets = new Map<Asset, Asset>();
for (const asset of allAssets) {
  const main = allAssets.find((a) => a.chain === asset.chain && a.contractAddress === null);
  feeAssets.set(asset, main ?? asset);
}

/** Returns the coin in which the asset's chain charges its fees. */
export function feeAssetOf(asset: Asset): Asset {
  return feeAssets.get(asset) ?? asset;
}

/** Formats smallest units as an exact decimal text without trailing zeros. */
export function decimalText(units: bigint, decimals: number): string {
  const sign = units < 0n ? '-' : '';
  const digits = (units < 0n ? -units : units).toString().padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  const rest = digits.slice(digits.length - decimals).replace(/0+$/, '');
  return `${sign}${whole}${rest === '' ? '' : `.${rest}`}`;
}

/** Parses a decimal text into smallest units of the coin. Throws for another text, and for more digits than it has. */
export function parseUnits(text: string, { symbol, decimals }: Asset): bigint {
  const [, whole = '', rest = ''] = /^(\d+)(?:\.(\d+))?$/.exec(text) ?? [];
  if (whole === '' || rest.length > decimals) {
    throw new Error(
      `an amount of ${symbol} is a text such as "1.5", with at most ${decimals} decimals`,
    );
  }
  return BigInt(whole + rest.padEnd(decimals, '0'));
}
