import type { SandboxWallet } from '../../src/sandbox/sandbox-wallets.ts';

type Query = (text: string) => Promise<Record<string, unknown>[]>;

/** A wallet's rows in the form of `rowsOfService`, for a comparison field by field and digit by digit. */
export function rowsOfLedger(query: Query, wallet = 'main'): Promise<Record<string, unknown>[]> {
  return query(`
    select order_no as "orderNo", symbol, tx_hash as "txHash", request_id as "requestId",
           from_address as "fromAddress", to_address as "toAddress", amount::text, type, state,
           confirm_num::text as "confirmNum", fee::text, fee_symbol as "feeSymbol",
           (extract(epoch from occurred_at) * 1000)::bigint::text as time
      from ledger.transactions where wallet = '${wallet}' order by order_no collate "C"`);
}

export function rowsOfService(sandbox: Pick<SandboxWallet, 'world'>): Record<string, unknown>[] {
  return sandbox.world
    .transactions()
    .map((row) => ({
      orderNo: row.orderNo,
      symbol: row.symbol || null,
      txHash: row.txHash || null,
      requestId: row.requestId || null,
      fromAddress: row.fromAddress || null,
      toAddress: row.toAddress || null,
      amount: row.amount,
      type: row.type,
      state: row.state,
      confirmNum: row.confirmNum || null,
      fee: row.fee || null,
      feeSymbol: row.feeSymbol || null,
      time: String(row.time),
    }))
    .sort((a, b) => (a.orderNo < b.orderNo ? -1 : 1));
}
