/** Late entries of a closed month, per coin. `amount` is null while an order's part is not known. */
export type LateSum = {
  symbol: string | null;
  entries: number;
  orders: number;
  amount: string | null;
  /** Entries that change no amount. */
  withoutAmount: number;
};

/** Late entries of month `c`, as JSON. */
export const lateSums = `
  coalesce((select json_agg(l order by l.symbol collate "C")
              from (select e.symbol, count(*)::integer as entries, count(distinct e.order_no)::integer as orders,
                           count(*) filter (where e.amount_change = 0)::integer as "withoutAmount",
                           case when bool_and(e.amount_change is not null or not e.is_last)
                             then trim_scale(sum(e.amount_change))::text end as amount
                      from (select *, lead(id) over (partition by order_no, symbol order by id) is null as is_last
                              from own.late_entries where month = c.month) as e group by e.symbol) as l), '[]')`;

export function countEntries(late: readonly LateSum[]): number {
  return late.reduce((sum, { entries }) => sum + entries, 0);
}
