import type { ListingService } from '../support/listing-service.ts';

/** Length of the year in days, number of coins, and transactions per day. */
export type Year = { days: number; coins: number; perDay: number };

export const stepsPerDay = 2;
export const stepMs = 86_400_000 / stepsPerDay;

/**
 * Gives the service a wallet whose rows are computed from their number: even ones are deposits. The last quarter of a
 * step's rows is confirming until the next step, and a success from then on, like all others.
 */
export function createYearWorld({ coins, perDay }: Year, startMs: number, service: ListingService) {
  const perStep = Math.ceil(perDay / stepsPerDay / 4) * 4;
  let count = 0;
  let settled = 0;
  /** Balance of each coin, in hundredths. */
  const settledSums = new Array<number>(coins).fill(0);
  const centsOf = (nth: number) => 100 + ((nth * 7_919) % 9_000);
  const coinOf = (nth: number) => Math.floor(nth / 4) % coins;
  // A withdrawal takes a quarter of the balance, so that no balance falls below zero.
  const signed = (nth: number) => (nth % 2 === 0 ? centsOf(nth) : -Math.floor(centsOf(nth) / 4));

  function textOf(nth: number, isDetail: boolean): string {
    const type = nth % 2 === 0 ? 'deposit' : 'withdraw';
    const hash = nth.toString(16).padStart(64, '0');
    return JSON.stringify({
      orderNo: `YEAR${String(nth).padStart(14, '0')}`,
      requestId: type === 'withdraw' ? `request-${nth}` : '',
      symbol: `C${coinOf(nth)}`,
      txHash: `0x${hash}`,
      fromAddress: `0x${hash.slice(24)}`,
      toAddress: `0x${hash.slice(24)}`,
      amount: (Math.abs(signed(nth)) / 100).toFixed(2),
      type,
      state: nth < settled ? 'success' : 'confirming',
      time: Math.floor(startMs + (nth / perStep) * stepMs),
      ...(isDetail && { confirmNum: nth < settled ? 12 : 1, fee: '0', feeSymbol: '' }),
    });
  }

  const addresses = Array.from({ length: 200 }, (_, nth) =>
    JSON.stringify({ address: `0x${(nth + 1).toString(16).padStart(40, '0')}` }),
  );
  service.twist = (page, { list, pageNo, pageSize }) => {
    if (list === 'addresses') {
      const rows = addresses.slice((pageNo - 1) * pageSize, pageNo * pageSize);
      return { ...page, rows, totalSize: addresses.length };
    }
    const newest = list === 'deposit' ? count - 2 : count - 1;
    const total = count / 2;
    const first = (pageNo - 1) * pageSize;
    const length = Math.max(0, Math.min(pageSize, total - first));
    const rows = Array.from({ length }, (_, nth) => textOf(newest - 2 * (first + nth), false));
    return { ...page, rows, totalSize: total };
  };
  service.details.get = (orderNo) => textOf(Number(orderNo.slice(4)), true);
  service.snapshots.coin = JSON.stringify(
    settledSums.map((_, coin) => ({ name: `Coin ${coin}`, ...assetOf(coin), decimal: 2 })),
  );

  return {
    count: () => count,
    /** Creates the rows of all steps up to this one; those of earlier steps succeed. */
    growUntil(step: number): void {
      count = step * perStep;
      for (; settled < count - perStep / 4; settled += 1) {
        const coin = coinOf(settled);
        settledSums[coin] = (settledSums[coin] ?? 0) + signed(settled);
      }
      service.snapshots.balance = JSON.stringify(
        settledSums.map((sum, coin) => ({
          ...assetOf(coin),
          name: `Coin ${coin}`,
          chainName: 'Ethereum',
          chainSymbol: 'ETH',
          balance: (sum / 100).toFixed(2),
          frozen: '0',
          decimal: 2,
        })),
      );
    },
  };
}

function assetOf(coin: number) {
  return {
    symbol: `C${coin}`,
    slip44: 60,
    contractAddress: `0x${(coin + 1).toString(16).padStart(40, 'a')}`,
    depositState: 1,
    withdrawState: 1,
  };
}
