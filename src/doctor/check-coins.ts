import type { CoinStates } from '../ledger/snapshots/read-coin-states.ts';
import { type Finding, okFinding, warningFinding } from './finding.ts';

const sides = [
  ['deposit', 'depositState'],
  ['withdraw', 'withdrawState'],
] as const;

/**
 * Reports coins whose state differs from that of most coins, and coins whose state differs from the stored one. The
 * meaning of the numbers is undocumented (docs/wallet-service-api.md, section 2.6). Null: not known.
 */
export function checkCoins(listed: CoinStates[] | null, stored: CoinStates[] | null): Finding[] {
  const name = 'coin-states';
  const coins = listed ?? stored ?? [];
  if (coins.length === 0) {
    return [
      warningFinding(
        name,
        'the service listed no coin',
        'run the command again when the service answers',
      ),
    ];
  }
  const unlike = sides.flatMap(([side, field]) => unlikeMost(coins, side, field));
  const changed = listed && stored ? changes(listed, stored) : [];
  const notes = [
    ...(unlike.length > 0 ? [`unlike most coins: ${unlike.join(', ')}`] : []),
    ...(changed.length > 0 ? [`changed since stored: ${changed.join(', ')}`] : []),
  ];
  if (notes.length === 0) return [okFinding(name, `${coins.length} coins, all in the same states`)];
  const cure =
    'ask the operator of the service what these states mean before you rely on these coins';
  return [warningFinding(name, notes.join('; '), cure)];
}

function unlikeMost(
  coins: CoinStates[],
  side: string,
  field: 'depositState' | 'withdrawState',
): string[] {
  const counts = new Map<number | null, number>();
  for (const coin of coins) counts.set(coin[field], (counts.get(coin[field]) ?? 0) + 1);
  const [usual] = [...counts].sort(([, a], [, b]) => b - a)[0] ?? [];
  return coins
    .filter((coin) => coin[field] !== usual)
    .map((coin) => `${labelOf(coin)} ${side} ${coin[field]} (most: ${usual})`);
}

function changes(listed: CoinStates[], stored: CoinStates[]): string[] {
  const before = new Map(stored.map((coin) => [keyOf(coin), coin]));
  return listed.flatMap((coin) =>
    sides.flatMap(([side, field]) => {
      const old = before.get(keyOf(coin));
      if (!old || old[field] === coin[field]) return [];
      return `${labelOf(coin)} ${side} ${old[field]} to ${coin[field]}`;
    }),
  );
}

function keyOf({ slip44, symbol, contractAddress }: CoinStates): string {
  return JSON.stringify([slip44, symbol, contractAddress]);
}

function labelOf({ symbol, slip44 }: CoinStates): string {
  return `${symbol} on ${slip44}`;
}
