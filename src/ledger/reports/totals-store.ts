import type { LedgerDb } from '../connection/connect-ledger.ts';
import { listOf, number, out, query, text } from '../connection/query-rows.ts';
import type { RowDifference } from '../row-difference.ts';

/**
 * Groups of running totals, without values. The keys have the form day/stream/symbol/state/fee coin, `-` where there is
 * none.
 */
export type TotalsComparison = {
  compared: number;
  different: RowDifference[];
};

/** Recounts all transactions and compares the running totals (view `daily_totals`) with the result. */
export async function compareTotals(db: LedgerDb): Promise<TotalsComparison> {
  const different = await query(db)`
    select concat_ws('/', coalesce(day::text, '-'), stream, coalesce(symbol, '-'), coalesce(state, '-'),
                     coalesce(fee_symbol, '-')) as ${out('orderNo', text)},
           array_remove(array[case when transactions <> 0 then 'transactions' end,
                              case when (amount, amounts) <> (0, 0) then 'amount' end,
                              case when (fee, fees) <> (0, 0) then 'fee' end,
                              case when (transactions, amount, amounts, fee, fees) = (0, 0, 0, 0, 0) then 'largestFee' end],
                        null) as ${out('fields', listOf(text))}
      from own.total_drift order by day, stream, symbol, state, fee_symbol`;
  const [groups] = await query(
    db,
  )`select count(*) as ${out('compared', number)} from own.daily_totals`;
  return {
    compared: groups?.compared ?? 0,
    different: different.map((group) => ({ ...group, ledger: {}, service: {} })),
  };
}

/** Corrects the running totals. Returns the number of groups that were wrong. */
export async function correctTotals(db: LedgerDb): Promise<number> {
  const [row] = await query(db)`select engine.mend_totals() as ${out('mended', number)}`;
  return row?.mended ?? 0;
}
