import type { CoinName } from './invent-transaction.ts';
import type { Moments } from './moments.ts';
import type { SeededRandom } from './seeded-random.ts';

type Coin = CoinName & {
  name: string;
  /** '' for a main-chain coin, which is sent as null. */
  contractAddress: string;
  decimals: number;
  depositState: number;
  withdrawState: number;
};

type BalanceVersion = { balance: string; frozen: string; moment: number | null; at: number };
type Balance = { coin: Coin; versions: BalanceVersion[] };

export type AssetTruth = {
  readonly coins: readonly Coin[];
  readonly balances: readonly Balance[];
  moveBalances(count: number): number;
  coinsJson(): string;
  balancesJson(): string;
};

const digits = '0123456789';

export function createAssetTruth(
  random: SeededRandom,
  moments: Moments,
  slip44s: readonly number[],
): AssetTruth {
  const coins = slip44s.flatMap((slip44) => inventCoins(random, slip44));
  // A coin that was never held has no balance.
  const balances = coins
    .filter((_, index) => index % 5 !== 4)
    .map((coin): Balance => ({ coin, versions: [{ ...invented(random), moment: null, at: 0 }] }));
  return {
    coins,
    balances,
    moveBalances(count) {
      const { id: moment, at } = moments.begin();
      for (let done = 0; done < count; done += 1) {
        random.pick(balances).versions.push({ ...invented(random), moment, at });
        if (random.chance(0.1)) moveCoin(random.pick(coins), random);
      }
      return count;
    },
    coinsJson: () => JSON.stringify(coins.map(coinItem)),
    balancesJson: () => `[${balances.map(balanceItem).join(',')}]`,
  };
}

function inventCoins(random: SeededRandom, slip44: number): Coin[] {
  const main = slip44 === 0 ? 'BTC' : slip44 === 60 ? 'ETH' : slip44 === 195 ? 'TRX' : `C${slip44}`;
  const coin = (symbol: string, contractAddress: string, decimals: number): Coin => ({
    slip44,
    symbol,
    name: `${symbol} “on” ${slip44}`,
    contractAddress,
    decimals,
    depositState: 1,
    withdrawState: random.below(3),
  });
  const contract = () => `0x${random.text('0123456789abcdef', 40)}`;
  return [
    coin(main, '', 18),
    coin('USDT', contract(), 6),
    // The same symbol twice on one chain.
    coin('USDT', contract(), 18),
    coin('wrapped.Token', contract(), 0),
  ];
}

function invented(random: SeededRandom): { balance: string; frozen: string } {
  const whole = String(random.below(1_000_000));
  const frozen = random.pick([
    '0',
    '0.10',
    `${random.below(99)}.${random.text(digits, 6)}`,
    '1e-8',
  ]);
  const balance = random.pick([
    `${whole}.${random.text(digits, 18)}`,
    `${whole}${random.text(digits, 12)}.${random.text(digits, 12)}`,
    `${whole}.${random.text(digits, 4)}e3`,
    `${whole}.500`,
  ]);
  return { balance, frozen };
}

function moveCoin(coin: Coin, random: SeededRandom): void {
  coin.depositState = random.below(4);
  coin.withdrawState = random.below(4);
}

function coinItem(coin: Coin) {
  const { name, symbol, decimals, depositState, withdrawState, slip44, contractAddress } = coin;
  return {
    name,
    symbol,
    decimal: decimals,
    depositState,
    withdrawState,
    slip44,
    contractAddress: contractAddress === '' ? null : contractAddress,
  };
}

function balanceItem({ coin, versions }: Balance): string {
  const { balance = '', frozen = '' } = versions.at(-1) ?? {};
  return JSON.stringify({
    ...coinItem(coin),
    chainName: `Chain ${coin.slip44}`,
    chainSymbol: `C${coin.slip44}`,
    balance,
    frozen,
  });
}
