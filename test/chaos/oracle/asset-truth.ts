import type { SeededRandom } from '../../support/seeded-random.ts';
import type { CoinName } from './invent-transaction.ts';
import type { Moment, Moments } from './moments.ts';
import { decimalOf, type Money, plainSymbols } from './plain-coin.ts';

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
  /** Those of the coins whose balances are the sums of their transactions. */
  readonly plainCoins: readonly Coin[];
  readonly balances: readonly Balance[];
  moveBalances(count: number): number;
  /** Adds to the balances of the plain coins; moment null: before the first request. */
  pay(money: Money, moment: Moment | null): void;
  coinsJson(): string;
  balancesJson(): string;
};

const digits = '0123456789';

/** `allPlain`: the wallet has all plain coins and no others; otherwise one of them and others. */
export function createAssetTruth(
  random: SeededRandom,
  moments: Moments,
  slip44s: readonly number[],
  allPlain: boolean,
): AssetTruth {
  const drawnCoins = slip44s.flatMap((slip44) => inventCoins(random, slip44));
  const plainCoins = plainSymbols
    .slice(0, allPlain ? undefined : 1)
    .map((symbol, index) =>
      inventCoin(random, slip44s[index % slip44s.length] ?? 0, symbol, contract(random), 18),
    );
  const coins = [...drawnCoins, ...plainCoins];
  // A coin that was never held has no balance.
  const drawn = drawnCoins
    .filter((_, index) => !allPlain && index % 5 !== 4)
    .map((coin): Balance => ({ coin, versions: [{ ...invented(random), moment: null, at: 0 }] }));
  const plain = plainCoins.map((coin) => ({ coin, units: 0n, versions: [plainVersion(0n, null)] }));
  const balances = [...drawn, ...plain];
  return {
    coins,
    plainCoins,
    balances,
    moveBalances(count) {
      if (drawn.length === 0) return 0;
      const { id: moment, at } = moments.begin();
      for (let done = 0; done < count; done += 1) {
        random.pick(drawn).versions.push({ ...invented(random), moment, at });
        if (random.chance(0.1)) moveCoin(random.pick(coins), random);
      }
      return count;
    },
    pay(money, moment) {
      for (const account of plain) {
        const units = money.get(account.coin.symbol) ?? 0n;
        if (units === 0n) continue;
        account.units += units;
        if (moment === null) account.versions.pop();
        account.versions.push(plainVersion(account.units, moment));
      }
    },
    coinsJson: () => JSON.stringify(coins.map(coinItem)),
    balancesJson: () => `[${balances.map(balanceItem).join(',')}]`,
  };
}

function inventCoins(random: SeededRandom, slip44: number): Coin[] {
  const main = slip44 === 0 ? 'BTC' : slip44 === 60 ? 'ETH' : slip44 === 195 ? 'TRX' : `C${slip44}`;
  const coin = (symbol: string, contractAddress: string, decimals: number) =>
    inventCoin(random, slip44, symbol, contractAddress, decimals);
  return [
    coin(main, '', 18),
    coin('USDT', contract(random), 6),
    // The same symbol twice on one chain.
    coin('USDT', contract(random), 18),
    coin('wrapped.Token', contract(random), 0),
  ];
}

function inventCoin(
  random: SeededRandom,
  slip44: number,
  symbol: string,
  contractAddress: string,
  decimals: number,
): Coin {
  return {
    slip44,
    symbol,
    name: `${symbol} “on” ${slip44}`,
    contractAddress,
    decimals,
    depositState: 1,
    withdrawState: random.below(3),
  };
}

function contract(random: SeededRandom): string {
  return `0x${random.text('0123456789abcdef', 40)}`;
}

function plainVersion(units: bigint, moment: Moment | null): BalanceVersion {
  const { id, at } = moment ?? { id: null, at: 0 };
  return { balance: decimalOf(units), frozen: '0', moment: id, at };
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
