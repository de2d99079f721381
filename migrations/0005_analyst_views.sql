-- Views and functions for analysts. The sums go over the rows once and judge states per group, not per row.
CREATE VIEW ledger.daily_flows AS
SELECT g.day, g.symbol, g.type, g.state,
       sum(g.transactions)::bigint AS transactions,
       sum(g.amount) AS amount,
       coalesce(jsonb_object_agg(coalesce(g.fee_symbol, ''), g.fee) FILTER (WHERE g.fee IS NOT NULL), '{}') AS fees
  FROM (SELECT (t.occurred_at AT TIME ZONE 'UTC')::date AS day, t.symbol, t.type, t.state, t.fee_symbol,
               count(*) AS transactions, sum(t.amount) AS amount, sum(t.fee) AS fee
          FROM ledger.transactions t
         WHERE t.is_listed
         GROUP BY 1, 2, 3, 4, 5) AS g
 GROUP BY g.day, g.symbol, g.type, g.state;
--> statement-breakpoint
CREATE VIEW ledger.pending_transactions AS
SELECT t.*, now() - coalesce(t.occurred_at, t.first_seen_at) AS age
  FROM ledger.transactions t
 WHERE NOT t.is_final;
--> statement-breakpoint
CREATE VIEW ledger.balance_history AS
SELECT c.slip44, c.symbol, c.contract_address, c.balance, c.frozen, c.observed_at AS valid_from,
       lead(c.observed_at) OVER (PARTITION BY c.slip44, c.symbol, c.contract_address ORDER BY c.observed_at, c.id)
         AS valid_to
  FROM ledger.balance_changes c;
--> statement-breakpoint
CREATE VIEW ledger.state_transitions AS
SELECT g.type, g.from_state, g.to_state, g.transactions, g.first_seen_at, g.last_seen_at,
       EXISTS (SELECT FROM ledger.final_states f WHERE f.state = lower(btrim(g.from_state))) AS is_final_setting
  FROM (SELECT t.type, c.old_value AS from_state, c.new_value AS to_state, count(*) AS transactions,
               min(c.observed_at) AS first_seen_at, max(c.observed_at) AS last_seen_at
          FROM ledger.transaction_changes c
          LEFT JOIN ledger.transactions t ON t.order_no = c.order_no
         WHERE c.field = 'state'
         GROUP BY t.type, c.old_value, c.new_value) AS g;
--> statement-breakpoint
CREATE VIEW ledger.sync_health AS
SELECT s.name, s.is_complete, s.service_total, s.ledger_count,
       trunc(extract(epoch FROM now() - s.last_success_at))::bigint AS lag_seconds,
       s.last_success_at, s.last_error
  FROM ledger.streams s;
--> statement-breakpoint
CREATE FUNCTION ledger.reconcile(balances_read_at timestamptz)
RETURNS TABLE (symbol text, deposits numeric, withdrawals numeric, fees numeric, expected numeric, reported numeric,
               difference numeric, is_explained boolean, explanation text)
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
WITH groups AS MATERIALIZED (
  SELECT t.stream, t.symbol, t.fee_symbol, t.state, t.is_final,
         t.detail_synced_at IS NULL OR t.next_check_at IS NOT NULL AS is_due,
         count(*) AS transactions, sum(t.amount) AS amount, sum(t.fee) AS fee, max(t.changed_at) AS changed_at
    FROM ledger.transactions t
   WHERE t.is_listed
   GROUP BY 1, 2, 3, 4, 5, 6
),
judged AS (
  SELECT g.*,
         EXISTS (SELECT FROM ledger.final_states f WHERE f.is_success AND f.state = lower(btrim(g.state)))
           AS is_success
    FROM groups g
),
moved AS (
  SELECT j.symbol,
         sum(j.amount) FILTER (WHERE j.stream = 'deposit') AS deposits,
         sum(j.amount) FILTER (WHERE j.stream = 'withdraw') AS withdrawals,
         count(*) FILTER (WHERE j.fee <> 0 AND j.fee_symbol IS NULL) AS nameless_fees
    FROM judged j WHERE j.is_success GROUP BY j.symbol
),
paid AS (
  SELECT j.fee_symbol AS symbol, sum(j.fee) AS fees FROM judged j WHERE j.is_success GROUP BY j.fee_symbol
),
touched AS (
  SELECT x.symbol,
         bool_or(j.symbol = x.symbol) AS is_moved,
         sum(j.transactions) FILTER (WHERE NOT j.is_final) AS pending,
         sum(j.transactions) FILTER (WHERE j.is_success AND j.is_due) AS due,
         max(j.changed_at) AS changed_at
    FROM judged j CROSS JOIN LATERAL (SELECT j.symbol UNION SELECT j.fee_symbol) AS x (symbol)
   WHERE x.symbol IS NOT NULL
   GROUP BY x.symbol
),
anywhere AS (
  SELECT (SELECT sum(j.transactions) FROM judged j
           WHERE j.stream = 'withdraw' AND j.fee_symbol IS NULL AND j.is_due AND (j.is_success OR NOT j.is_final))
           AS unknown_fees,
         (SELECT string_agg(s.name, ', ' ORDER BY s.name) FROM ledger.streams s
           WHERE s.name IN ('deposit', 'withdraw') AND NOT s.is_complete AND s.checkpoint ->> 'gap' IS NULL) AS unwalked,
         (SELECT r.started_at FROM ledger.sync_runs r
           WHERE r.job = 'transactions' AND r.outcome IN ('done', 'incomplete') ORDER BY r.id DESC LIMIT 1)
           AS lists_read_at
),
refused AS (
  SELECT x.symbol, count(DISTINCT r.id) AS rejects
    FROM ledger.rejects r
    LEFT JOIN ledger.transactions t ON t.order_no = r.order_no
   CROSS JOIN LATERAL (SELECT t.symbol
                       UNION SELECT t.fee_symbol
                       UNION SELECT substring(r.payload FROM '"symbol"\s*:\s*"([^"\\]+)"')
                       UNION SELECT substring(r.payload FROM '"feeSymbol"\s*:\s*"([^"\\]+)"')) AS x (symbol)
   WHERE r.resolved_at IS NULL
     AND r.source IN ('transaction-list', 'transaction-detail', 'balance-list')
     AND (r.field IS NULL OR r.field IN ('orderNo', 'symbol', 'amount', 'type', 'state', 'fee', 'feeSymbol',
                                         'slip44', 'contractAddress', 'balance'))
   GROUP BY x.symbol
),
held AS (
  SELECT b.symbol, sum(b.balance) AS balance, max(b.observed_at) AS observed_at
    FROM ledger.balances b WHERE b.is_listed GROUP BY b.symbol
),
compared AS (
  SELECT s.symbol,
         coalesce(m.deposits, 0) AS deposits,
         coalesce(m.withdrawals, 0) AS withdrawals,
         coalesce(p.fees, 0) AS fees,
         coalesce(m.deposits, 0) - coalesce(m.withdrawals, 0) - coalesce(p.fees, 0) AS expected,
         coalesce(h.balance, 0) AS reported,
         concat_ws('; ',
           'not final yet: ' || c.pending,
           'detail, and fee with it, still to be fetched: ' || c.due,
           'withdrawals whose fee coin is not known yet: ' || a.unknown_fees,
           'fees that name no coin: ' || nullif(m.nameless_fees, 0),
           'open rejects: ' || u.rejects,
           CASE WHEN h.symbol IS NULL AND NOT coalesce(c.is_moved, false)
             THEN 'fees name a coin that the balances do not' END,
           CASE WHEN balances_read_at IS NULL THEN 'the balances have not been read yet'
                WHEN balances_read_at < c.changed_at THEN 'a transaction changed after the balances were read' END,
           CASE WHEN a.lists_read_at < h.observed_at
             THEN 'the balance changed after the transaction lists were read' END,
           'lists not read to their end yet: ' || a.unwalked) AS reasons
    FROM (SELECT symbol FROM touched UNION SELECT symbol FROM held) AS s
    LEFT JOIN moved m ON m.symbol = s.symbol
    LEFT JOIN paid p ON p.symbol = s.symbol
    LEFT JOIN touched c ON c.symbol = s.symbol
    LEFT JOIN refused u ON u.symbol = s.symbol
    LEFT JOIN held h ON h.symbol = s.symbol
   CROSS JOIN anywhere a
)
SELECT c.symbol, c.deposits, c.withdrawals, c.fees, c.expected, c.reported, c.reported - c.expected,
       c.reported = c.expected OR c.reasons <> '',
       CASE WHEN c.reported <> c.expected THEN nullif(c.reasons, '') END
  FROM compared c
$$;
--> statement-breakpoint
CREATE VIEW ledger.reconciliation AS
SELECT r.symbol, r.deposits, r.withdrawals, r.fees, r.expected, r.reported, r.difference, r.is_explained, r.explanation
  FROM (SELECT greatest((SELECT s.started_at FROM ledger.sync_runs s
                          WHERE s.job = 'balances' AND s.outcome IN ('done', 'incomplete') ORDER BY s.id DESC LIMIT 1),
                        (SELECT max(b.observed_at) FROM ledger.balances b)) AS read_at) AS last
 CROSS JOIN LATERAL ledger.reconcile(last.read_at) AS r;
--> statement-breakpoint
-- Of a key's changes up to then the latest; an amount that is null there says that the balance was not listed.
CREATE FUNCTION ledger.balances_at(at timestamptz)
RETURNS TABLE (slip44 integer, symbol text, contract_address text, name text, chain_name text, chain_symbol text,
               balance numeric, frozen numeric, decimals integer, is_listed boolean, changed_at timestamptz)
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
SELECT b.slip44, b.symbol, b.contract_address, b.name, b.chain_name, b.chain_symbol, amount.balance, held.frozen,
       b.decimals,
       coalesce(last.balance, last.frozen) IS NOT NULL OR b.is_listed AND coalesce(b.balance, b.frozen) IS NULL,
       last.observed_at
  FROM ledger.balances b
 CROSS JOIN LATERAL (
    SELECT c.balance, c.frozen, c.observed_at FROM ledger.balance_changes c
     WHERE c.slip44 = b.slip44 AND c.symbol = b.symbol AND c.contract_address = b.contract_address
       AND c.observed_at <= at
     ORDER BY c.observed_at DESC, c.id DESC LIMIT 1) AS last
  LEFT JOIN LATERAL (
    SELECT c.balance FROM ledger.balance_changes c
     WHERE c.slip44 = b.slip44 AND c.symbol = b.symbol AND c.contract_address = b.contract_address
       AND c.observed_at <= at AND c.balance IS NOT NULL
     ORDER BY c.observed_at DESC, c.id DESC LIMIT 1) AS amount ON true
  LEFT JOIN LATERAL (
    SELECT c.frozen FROM ledger.balance_changes c
     WHERE c.slip44 = b.slip44 AND c.symbol = b.symbol AND c.contract_address = b.contract_address
       AND c.observed_at <= at AND c.frozen IS NOT NULL
     ORDER BY c.observed_at DESC, c.id DESC LIMIT 1) AS held ON true
$$;
--> statement-breakpoint
-- The oldest change after the moment has the value of the moment. Writers of one order take turns, so the ids of its
-- changes rise in the order in which they were made, whatever the clocks of their transactions say.
CREATE FUNCTION ledger.transactions_at(at timestamptz)
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
         THEN EXISTS (SELECT FROM ledger.final_states f WHERE f.state = lower(btrim(u.old ->> 'state')))
         ELSE t.is_final END,
       coalesce((u.old ->> 'is_listed')::boolean, t.is_listed),
       t.first_seen_at,
       coalesce((u.old ->> 'extra')::jsonb, t.extra)
  FROM ledger.transactions t
  LEFT JOIN (SELECT o.order_no, jsonb_object_agg(o.field, o.old_value) AS old
               FROM (SELECT DISTINCT ON (c.order_no, c.field) c.order_no, c.field, c.old_value
                       FROM ledger.transaction_changes c
                      WHERE c.observed_at > at
                      ORDER BY c.order_no, c.field, c.id) AS o
              GROUP BY o.order_no) AS u ON u.order_no = t.order_no
 WHERE t.first_seen_at <= at
$$;
--> statement-breakpoint
COMMENT ON TABLE ledger.reconciliation_runs IS 'What the view reconciliation said of a coin whenever its difference changed: one row per change, written when balances are read';
COMMENT ON COLUMN ledger.reconciliation_runs.id IS 'Ever increasing';
COMMENT ON COLUMN ledger.reconciliation_runs.symbol IS 'Coin symbol code';
COMMENT ON COLUMN ledger.reconciliation_runs.observed_at IS 'When the difference was first seen as it is here';
COMMENT ON COLUMN ledger.reconciliation_runs.expected IS 'Deposits less withdrawals less fees then, in units of the coin';
COMMENT ON COLUMN ledger.reconciliation_runs.reported IS 'The balances'' sum then, in units of the coin';
COMMENT ON COLUMN ledger.reconciliation_runs.difference IS 'reported less expected, in units of the coin';
COMMENT ON COLUMN ledger.reconciliation_runs.is_explained IS 'Whether the difference is 0 or something known explains it; follows the latest judgement as long as the difference stays';
COMMENT ON COLUMN ledger.reconciliation_runs.explanation IS 'What explains it, by the latest judgement; null when the difference is 0 or nothing explains it';
COMMENT ON COLUMN ledger.reconciliation_runs.last_order_no IS 'The newest transaction of the coin then, by occurred_at (orderNo); null when there was none';
--> statement-breakpoint
COMMENT ON VIEW ledger.daily_flows IS 'What moved on each UTC day, per coin, type and state; only transactions that the service still lists';
COMMENT ON COLUMN ledger.daily_flows.day IS 'UTC day of the transactions (time); null for those whose time is unreadable';
COMMENT ON COLUMN ledger.daily_flows.symbol IS 'Coin symbol code (symbol); null when the service gave none';
COMMENT ON COLUMN ledger.daily_flows.type IS 'deposit or withdraw, as the service says (type)';
COMMENT ON COLUMN ledger.daily_flows.state IS 'State as the service says (state); only some states moved money, see final_states.is_success';
COMMENT ON COLUMN ledger.daily_flows.transactions IS 'Number of transactions';
COMMENT ON COLUMN ledger.daily_flows.amount IS 'Sum of their amounts in units of the coin (amount); null when none is readable';
COMMENT ON COLUMN ledger.daily_flows.fees IS 'Sums of their fees by fee coin (fee, feeSymbol), as {"ETH": 0.02}; {} when no detail has been fetched; the key is empty where a fee names no coin';
--> statement-breakpoint
COMMENT ON VIEW ledger.pending_transactions IS 'The transactions that are not final by WALLET_FINAL_STATES, with how long they have been on their way';
COMMENT ON COLUMN ledger.pending_transactions.order_no IS 'Order identifier, unique within the service (orderNo)';
COMMENT ON COLUMN ledger.pending_transactions.stream IS 'The list that counts the row: deposit or withdraw';
COMMENT ON COLUMN ledger.pending_transactions.request_id IS 'Request identifier of a withdrawal (requestId); null for deposits';
COMMENT ON COLUMN ledger.pending_transactions.symbol IS 'Coin symbol code (symbol)';
COMMENT ON COLUMN ledger.pending_transactions.tx_hash IS 'Transaction hash on the blockchain (txHash); null until the service knows it';
COMMENT ON COLUMN ledger.pending_transactions.from_address IS 'Address the funds are sent from (fromAddress)';
COMMENT ON COLUMN ledger.pending_transactions.to_address IS 'Address the funds are sent to (toAddress)';
COMMENT ON COLUMN ledger.pending_transactions.amount IS 'Amount in units of the coin (amount); null when unreadable, see rejects';
COMMENT ON COLUMN ledger.pending_transactions.type IS 'deposit or withdraw, as the service says (type)';
COMMENT ON COLUMN ledger.pending_transactions.state IS 'State as the service says (state)';
COMMENT ON COLUMN ledger.pending_transactions.confirm_num IS 'Block confirmations when the detail was last fetched (confirmNum); null before the first detail';
COMMENT ON COLUMN ledger.pending_transactions.fee IS 'Fee in units of fee_symbol (fee); null before the first detail';
COMMENT ON COLUMN ledger.pending_transactions.fee_symbol IS 'Coin symbol of the fee (feeSymbol); null before the first detail';
COMMENT ON COLUMN ledger.pending_transactions.occurred_at IS 'Time of the transaction (time, UTC); null when unreadable, see rejects';
COMMENT ON COLUMN ledger.pending_transactions.is_final IS 'Always false here';
COMMENT ON COLUMN ledger.pending_transactions.is_listed IS 'False once a complete walk over the service''s list no longer found the row';
COMMENT ON COLUMN ledger.pending_transactions.detail_synced_at IS 'When the detail was last fetched; null before the first time';
COMMENT ON COLUMN ledger.pending_transactions.next_check_at IS 'When the detail is due next';
COMMENT ON COLUMN ledger.pending_transactions.first_seen_at IS 'When the ledger first saw the row';
COMMENT ON COLUMN ledger.pending_transactions.changed_at IS 'When a value of the row last changed, first sight included';
COMMENT ON COLUMN ledger.pending_transactions.observed_at IS 'When the answer that last changed or completed the row was stored';
COMMENT ON COLUMN ledger.pending_transactions.observation IS 'Number of the request whose answer last wrote the row';
COMMENT ON COLUMN ledger.pending_transactions.extra IS 'Fields of the service''s payload that its document does not name; null as a rule';
COMMENT ON COLUMN ledger.pending_transactions.age IS 'Time since the transaction (occurred_at); since first_seen_at where that is null';
--> statement-breakpoint
COMMENT ON VIEW ledger.balance_history IS 'Each balance from one change to the next, as the ledger saw it';
COMMENT ON COLUMN ledger.balance_history.slip44 IS 'slip44 code of the coin''s chain';
COMMENT ON COLUMN ledger.balance_history.symbol IS 'Coin symbol code';
COMMENT ON COLUMN ledger.balance_history.contract_address IS 'Contract address of a token (contractAddress); empty for a main-chain coin';
COMMENT ON COLUMN ledger.balance_history.balance IS 'Balance in units of the coin (balance); null while the service did not list the coin';
COMMENT ON COLUMN ledger.balance_history.frozen IS 'Frozen part in units of the coin (frozen); null while the service did not list the coin';
COMMENT ON COLUMN ledger.balance_history.valid_from IS 'When the ledger first saw it so';
COMMENT ON COLUMN ledger.balance_history.valid_to IS 'When the ledger saw the next change; null while it holds';
--> statement-breakpoint
COMMENT ON VIEW ledger.state_transitions IS 'Which state followed which, and for how many transactions: shows whether WALLET_FINAL_STATES is right';
COMMENT ON COLUMN ledger.state_transitions.type IS 'deposit or withdraw, as the service says (type)';
COMMENT ON COLUMN ledger.state_transitions.from_state IS 'State before, as the service says (state)';
COMMENT ON COLUMN ledger.state_transitions.to_state IS 'State after. States that came and went between two looks of the ledger are not seen';
COMMENT ON COLUMN ledger.state_transitions.transactions IS 'How many transactions went this way; one that went it again counts again';
COMMENT ON COLUMN ledger.state_transitions.first_seen_at IS 'When the ledger first saw it';
COMMENT ON COLUMN ledger.state_transitions.last_seen_at IS 'When the ledger last saw it';
COMMENT ON COLUMN ledger.state_transitions.is_final_setting IS 'Whether the settings take from_state as final: true here means that a final state was left after all';
--> statement-breakpoint
COMMENT ON VIEW ledger.sync_health IS 'How complete and how fresh each list of the service is in the ledger';
COMMENT ON COLUMN ledger.sync_health.name IS 'deposit, withdraw or addresses:<slip44>';
COMMENT ON COLUMN ledger.sync_health.is_complete IS 'Whether a complete walk stands behind the counts and they are equal';
COMMENT ON COLUMN ledger.sync_health.service_total IS 'What the service last counted (totalSize); null before the first answer';
COMMENT ON COLUMN ledger.sync_health.ledger_count IS 'Listed rows in the ledger';
COMMENT ON COLUMN ledger.sync_health.lag_seconds IS 'Whole seconds since last_success_at; null when the list has never been read well';
COMMENT ON COLUMN ledger.sync_health.last_success_at IS 'When a pass over the list last ended well; null when none did';
COMMENT ON COLUMN ledger.sync_health.last_error IS 'Why the latest pass failed; null when it ended well';
--> statement-breakpoint
COMMENT ON FUNCTION ledger.reconcile IS 'The rows of the view reconciliation for balances read at a given time; null: never read';
COMMENT ON VIEW ledger.reconciliation IS 'Whether the listed transactions add up to the balances that the service reports, per coin over all chains';
COMMENT ON COLUMN ledger.reconciliation.symbol IS 'Coin symbol code';
COMMENT ON COLUMN ledger.reconciliation.deposits IS 'Sum of the amounts of listed deposits in a success state (WALLET_SUCCESS_STATES), in units of the coin';
COMMENT ON COLUMN ledger.reconciliation.withdrawals IS 'Sum of the amounts of listed withdrawals in a success state, in units of the coin';
COMMENT ON COLUMN ledger.reconciliation.fees IS 'Sum of the fees paid in this coin (feeSymbol) by listed transactions of any coin in a success state';
COMMENT ON COLUMN ledger.reconciliation.expected IS 'deposits less withdrawals less fees';
COMMENT ON COLUMN ledger.reconciliation.reported IS 'Sum of the coin''s listed balances over all chains (balance); 0 when the service lists none';
COMMENT ON COLUMN ledger.reconciliation.difference IS 'reported less expected';
COMMENT ON COLUMN ledger.reconciliation.is_explained IS 'True when difference is 0 or something known may explain it';
COMMENT ON COLUMN ledger.reconciliation.explanation IS 'What may explain it, with the numbers of transactions or values; null when difference is 0 or nothing explains it';
--> statement-breakpoint
COMMENT ON FUNCTION ledger.balances_at IS 'The balances as the ledger knew them then: balance, frozen and is_listed are of that time, changed_at is when they became so; names and decimals are today''s';
COMMENT ON FUNCTION ledger.transactions_at IS 'The transactions as the ledger knew them then: rows first seen by then, every logged field with its value of that time, is_final by today''s settings. Filling an empty field, a rising confirm_num and being listed again are not logged: there they show the later value';
