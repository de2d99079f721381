import type { Check } from './check-types.ts';

/** The rows of transactions against the present truth. */
export const transactionChecks: readonly Check[] = [
  {
    id: 'transactions.complete',
    promise: 'every order of the service is in the ledger',
    sql: `select order_no from oracle.transactions o
           where not exists (select from ledger.transactions t where t.order_no = o.order_no)`,
  },
  {
    id: 'transactions.invented',
    promise: 'the ledger holds no order that the service does not have',
    sql: `select order_no from ledger.transactions t
           where not exists (select from oracle.transactions o where o.order_no = t.order_no)`,
  },
  {
    id: 'transactions.exact',
    promise:
      'every field that the list shows is stored as it is, digit for digit; of odd rows, what is good of them',
    sql: `select order_no, f.field, f.truth, f.stored
            from oracle.transactions o
            join ledger.transactions t using (order_no)
           cross join lateral (values
             ('type', o.stream, t.type), ('stream', o.stream, t.stream), ('request_id', o.request_id, t.request_id),
             ('symbol', o.symbol, t.symbol), ('tx_hash', o.tx_hash, t.tx_hash),
             ('from_address', o.from_address, t.from_address), ('to_address', o.to_address, t.to_address),
             ('amount', o.amount::numeric::text, t.amount::text), ('state', o.state, t.state),
             ('occurred_at', o.time_ms::text, (extract(epoch from t.occurred_at) * 1000)::float8::text),
             ('extra', o.extra::jsonb::text, t.extra::text)) as f (field, truth, stored)
           where f.truth is distinct from f.stored`,
  },
  {
    id: 'transactions.details',
    promise: 'confirmations and fee of every final order are stored as they are, digit for digit',
    sql: `select order_no, f.field, f.truth, f.stored
            from oracle.transactions o
            join ledger.transactions t using (order_no)
           cross join lateral (values
             ('confirm_num', o.confirm_num::text, t.confirm_num::text), ('fee', o.fee::numeric::text, t.fee::text),
             ('fee_symbol', o.fee_symbol, t.fee_symbol)) as f (field, truth, stored)
           where o.is_final and f.truth is distinct from f.stored`,
  },
  {
    id: 'transactions.final',
    promise:
      'is_final says what the state says; a final order has had its detail and is not due again',
    sql: `select order_no, o.is_final as truth, t.is_final, t.detail_synced_at, w.due_at
            from oracle.transactions o
            join ledger.transactions t using (order_no)
            left join ledger.waiting_details w using (order_no)
           where t.is_final <> o.is_final
              or (o.is_final and (t.detail_synced_at is null or w.order_no is not null))`,
  },
  {
    id: 'transactions.listed',
    promise: 'what the service lists is marked as listed',
    sql: `select order_no from oracle.transactions o join ledger.transactions t using (order_no)
           where not t.is_listed`,
  },
  {
    id: 'odd.rejected',
    promise: 'what cannot be stored of an odd row is an open reject with the payload as it came',
    sql: `select order_no, o.kind, o.field from oracle.odd_rows o
           where not exists (select from ledger.rejects r
                              where r.order_no = o.order_no and r.field = o.field and r.resolved_at is null
                                and r.payload like '{%"orderNo":%')`,
  },
];
