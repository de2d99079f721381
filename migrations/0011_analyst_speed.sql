-- Only a transaction that was there and has changed since had other values then, so only of those the changes are read.
-- A day more than changed_at says: the clocks of transactions that ran side by side do not follow one another. A
-- subquery that does not depend on the row lets several processes share the work.
CREATE OR REPLACE FUNCTION ledger.transactions_at(at timestamptz)
RETURNS TABLE (order_no text, stream text, request_id text, symbol text, tx_hash text, from_address text,
               to_address text, amount numeric, type text, state text, confirm_num integer, fee numeric,
               fee_symbol text, occurred_at timestamptz, is_final boolean, is_listed boolean,
               first_seen_at timestamptz, extra jsonb)
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
SELECT t.order_no, t.stream,
       coalesce(u.old ->> 'request_id', t.request_id),
       coalesce(u.old ->> 'symbol', t.symbol),
       coalesce(u.old ->> 'tx_hash', t.tx_hash),
       coalesce(u.old ->> 'from_address', t.from_address),
       coalesce(u.old ->> 'to_address', t.to_address),
       coalesce((u.old ->> 'amount')::numeric, t.amount),
       coalesce(u.old ->> 'type', t.type),
       coalesce(u.old ->> 'state', t.state),
       coalesce((u.old ->> 'confirm_num')::integer, t.confirm_num),
       coalesce((u.old ->> 'fee')::numeric, t.fee),
       coalesce(u.old ->> 'fee_symbol', t.fee_symbol),
       coalesce((u.old ->> 'occurred_at')::timestamptz, t.occurred_at),
       CASE WHEN u.old ? 'state'
         THEN lower(btrim(u.old ->> 'state')) IN (SELECT f.state FROM ledger.final_states f)
         ELSE t.is_final END,
       coalesce((u.old ->> 'is_listed')::boolean, t.is_listed),
       t.first_seen_at,
       coalesce((u.old ->> 'extra')::jsonb, t.extra)
  FROM ledger.transactions t
  LEFT JOIN (SELECT o.order_no, jsonb_object_agg(o.field, o.old_value) AS old
               FROM (SELECT DISTINCT ON (c.order_no, c.field) c.order_no, c.field, c.old_value
                       FROM ledger.transactions x
                       JOIN ledger.transaction_changes c ON c.order_no = x.order_no
                      WHERE x.first_seen_at <= at AND x.changed_at > at - interval '1 day' AND c.observed_at > at
                      ORDER BY c.order_no, c.field, c.id) AS o
              GROUP BY o.order_no) AS u ON u.order_no = t.order_no
 WHERE t.first_seen_at <= at
$$;
--> statement-breakpoint
-- The hash of all transactions' types fits into 32 MB times hash_mem_multiplier up to some millions of rows; a view
-- cannot ask for memory. Left parallel unsafe, so that its own query may run in parallel.
CREATE FUNCTION ledger.count_state_transitions()
RETURNS TABLE (type text, from_state text, to_state text, transactions bigint, first_seen_at timestamptz,
               last_seen_at timestamptz)
LANGUAGE sql STABLE
SET work_mem = '32MB'
AS $$
SELECT t.type, c.old_value, c.new_value, count(*), min(c.observed_at), max(c.observed_at)
  FROM ledger.transaction_changes c
  LEFT JOIN ledger.transactions t ON t.order_no = c.order_no
 WHERE c.field = 'state'
 GROUP BY t.type, c.old_value, c.new_value
$$;
--> statement-breakpoint
CREATE OR REPLACE VIEW ledger.state_transitions AS
SELECT g.type, g.from_state, g.to_state, g.transactions, g.first_seen_at, g.last_seen_at,
       EXISTS (SELECT FROM ledger.final_states f WHERE f.state = lower(btrim(g.from_state))) AS is_final_setting
  FROM ledger.count_state_transitions() AS g;
--> statement-breakpoint
COMMENT ON FUNCTION ledger.count_state_transitions IS 'The rows of the view state_transitions';
