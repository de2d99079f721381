import type { BalanceStatus } from '../../ledger/reports/ledger-status.ts';
import { drawnNumber } from '../page/drawn-number.ts';
import { cappedSeries } from './capped-series.ts';
import type { StatusGauge } from './status-gauge.ts';

const labelNames = ['symbol', 'chain', 'wallet'];

/** Money, for charts and alerts. The books are in PostgreSQL: a sample is a float, and loses digits. */
export const balanceGauges: StatusGauge[] = [
  {
    name: 'wallet_ledger_balance',
    help: 'Balance that the service reports, in units of the coin; a float, so not for books. The 100 largest numbers of each wallet',
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
        known.map((balance) => ({
          name: `${balance.symbol}${separator}${balance.chain}`,
          value: drawnNumber(amount(balance)),
        })),
      ).flatMap(({ name, value }) => {
        const [symbol = '', chain] = name.split(separator);
        // The rest has no coin, and so no amount.
        return chain === undefined
          ? []
          : [{ labels: { symbol, chain, wallet: wallet.name }, value }];
      });
    });
}
