import type { BalanceRecord } from '../../src/kernel/wallet-records.ts';
import { storeListedTransactions } from '../../src/ledger/transactions/store-listed-transactions.ts';
import { storeTransactionDetails } from '../../src/ledger/transactions/store-transaction-details.ts';
import { detailed, listed } from '../support/transaction-rows.ts';
import type { TestLedger } from '../support/with-ledger.ts';

export const day = Date.UTC(2026, 0, 2);

/** A balance of a chain's coin, or of a token if it has a contract. */
export function balance(
  symbol: string,
  amount: string,
  slip44 = 60,
  contractAddress = '',
): BalanceRecord {
  const names = { name: null, chainName: null, chainSymbol: null, decimals: 18 };
  return { ...names, symbol, slip44, contractAddress, balance: amount, frozen: '0' };
}

/** Stores deposits of 10 ETH and 100 USDT, a withdrawal of 30 USDT for a fee of 0.02 ETH, and a failed deposit. */
export async function fillLittleWallet({ ledger: { db }, query }: TestLedger): Promise<void> {
  const rows = [
    { orderNo: 'd1', symbol: 'ETH', amount: '10.00', state: 'success', occurredAt: day },
    { orderNo: 'd2', symbol: 'USDT', amount: '100', state: 'Success ', occurredAt: day - 1 },
    { orderNo: 'd3', symbol: 'ETH', amount: '5', state: 'failed', occurredAt: day },
  ].map((row) => listed(row));
  const out = { symbol: 'USDT', amount: '30', type: 'withdraw', state: 'success' };
  const sent = listed({ orderNo: 'w1', ...out, occurredAt: day + 86_399_999 });
  await storeListedTransactions(db, 'deposit', rows);
  await storeListedTransactions(db, 'withdraw', [sent]);
  await storeTransactionDetails(db, [
    ...rows.map((row) => detailed({ ...row, observation: 2, fee: '0', feeSymbol: row.symbol })),
    detailed({ ...sent, observation: 2, fee: '0.020', feeSymbol: 'ETH' }),
  ]);
  await query('update ledger.streams set is_backed = true, service_total = ledger_count');
}
