import { createHash } from 'node:crypto';
import type { TransactionType } from '../../src/kernel/vocabulary.ts';

/**
 * A computed history of any length: row n of a list (0: the oldest) is a function of n, here in TypeScript for the
 * service and in SQL for the ledger. `test/bench` relies on both being the same.
 */
export type VirtualHistory = {
  /** Rows of each list. */
  counts: Record<TransactionType, number>;
  /** Unix ms of row 0, and from one row to the next. */
  startMs: number;
  stepMs: number;
};

/** List form of a transaction (docs/wallet-service-api.md, section 2.4). */
export type VirtualRow = {
  orderNo: string;
  requestId: string | null;
  symbol: string;
  txHash: string;
  fromAddress: string;
  toAddress: string;
  amount: string;
  type: TransactionType;
  state: string;
  time: number;
};

const symbols = ['BTC', 'ETH', 'TRX', 'USDT'];
/** Deposit addresses in use, independent of the history's length: customers return. */
const addresses = 100_000;
const addressStep = 7_919;

/** Rows of each list that may yet be appended before their times would lie in the future. */
const spareRows = 5_000;

/** About three years, whatever the number of rows. */
export function virtualHistory(counts: VirtualHistory['counts']): VirtualHistory {
  const spanMs = 3 * 365 * 86_400_000;
  const rows = Math.max(counts.deposit, counts.withdraw);
  return { counts, startMs: Date.now() - spanMs, stepMs: Math.floor(spanMs / (rows + spareRows)) };
}

export function virtualRow(history: VirtualHistory, type: TransactionType, n: number): VirtualRow {
  const isDeposit = type === 'deposit';
  const orderNo = `${isDeposit ? 'D' : 'W'}${String(n).padStart(12, '0')}`;
  const digest = md5(orderNo);
  return {
    orderNo,
    requestId: isDeposit ? null : `request-${n}`,
    symbol: symbols[n % symbols.length] ?? '',
    txHash: `0x${digest}${digest}`,
    fromAddress: `0x${digest}00000000`,
    toAddress: `0x${md5(String((n * addressStep) % addresses))}00000000`,
    amount: `${1 + (n % 997)}.${String(n % 10_000).padStart(4, '0')}`,
    type,
    state: n % 100 === 7 ? 'failed' : 'success',
    time: history.startMs + n * history.stepMs,
  };
}

function md5(text: string): string {
  return createHash('md5').update(text).digest('hex');
}

/** The same rows as `virtualRow`, of both lists side by side, under the names of the columns of `transactions`. */
export function virtualRowsSql({ counts, startMs, stepMs }: VirtualHistory): string {
  return `
    select o.order_no, t.type as stream, case t.type when 'withdraw' then 'request-' || n end as request_id,
           (array['${symbols.join("','")}'])[n % ${symbols.length} + 1] as symbol,
           '0x' || d.digest || d.digest as tx_hash,
           '0x' || d.digest || '00000000' as from_address,
           '0x' || md5((n * ${addressStep} % ${addresses})::text) || '00000000' as to_address,
           1 + n % 997 + (n % 10000) * 0.0001 as amount,
           t.type, case n % 100 when 7 then 'failed' else 'success' end as state,
           timestamptz 'epoch' + (${startMs} + n * ${stepMs}) * interval '1 millisecond' as occurred_at
      from generate_series(0::bigint, ${Math.max(counts.deposit, counts.withdraw)} - 1) as n
     cross join (values ('deposit', ${counts.deposit}), ('withdraw', ${counts.withdraw})) as t (type, rows)
     cross join lateral (select case t.type when 'deposit' then 'D' else 'W' end || lpad(n::text, 12, '0')
                         offset 0) as o (order_no)
     cross join lateral (select md5(o.order_no) offset 0) as d (digest)
     where n < t.rows`;
}
