import type { BalanceStatus } from '../../ledger/reports/ledger-status.ts';
import { drawnNumber } from '../page/drawn-number.ts';
import { cappedSeries } from './capped-series.ts';
import type { StatusGauge } from './status-gauge.ts';

const labelNames = ['symbol', 'chain', 'wallet'];

/** Gauges of money for charts and alerts. A sample is a float and loses digits; the exact books are in PostgreSQL. */
export const balanceGauges: StatusGauge[] = [
  {
    name: 'wallet_ledger_balance',
    help: 'Balance that the service reports, in units of the coin; a float, so not for books. Tokens of one symbol and chain are summed. The 100 largest numbers of each wallet',
    labelNames,
    samples: perBalance(({ balance }) => balance),
  },
  {
    name: 'wallet_ledger_balance_frozen',
    help: 'Part of the balance that the service reports as frozen, in units of the coin',
    labelNames,
    samples: perBalance(({ frozen }) => frozen),
  },
];

/** Separates symbol and chain in the name of a series; a text from the service has no control character. */
const separator = '\u0000';

function perBalance(amount: (balance: BalanceStatus) => string | null): StatusGauge['samples'] {
  return ({ wallets, balances }) =>
    wallets.flatMap((wallet) => {
      const own = balances.filter((balance) => balance.wallet === wallet.name);
      const known = own.filter((balance) => amount(balance) !== null);
      return cappedSeries(
        [...sumBySeries(known, amount)].map(([name, value]) => ({ name, value })),
      ).flatMap(({ name, value }) => {
        const [symbol = '', chain] = name.split(separator);
        // The rest has no coin, and so no common unit.
        return chain === undefined
          ? []
          : [{ labels: { symbol, chain, wallet: wallet.name }, value }];
      });
    });
}

/** Adds up the amounts of one symbol and chain name: a symbol may have several contracts, and a name several chains. */
function sumBySeries(
  balances: readonly BalanceStatus[],
  amount: (balance: BalanceStatus) => string | null,
): Map<string, number> {
  const sums = new Map<string, number>();
  for (const balance of balances) {
    const name = `${balance.symbol}${separator}${balance.chain}`;
    sums.set(name, (sums.get(name) ?? 0) + drawnNumber(amount(balance)));
  }
  return sums;
}
