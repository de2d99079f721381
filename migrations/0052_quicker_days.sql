-- What these functions read is little, however long the history is. To start parallel workers takes longer than to read it,
-- and so does compiling.
DO $$
DECLARE
  each text;
BEGIN
  FOREACH each IN ARRAY ARRAY[
    'engine.reconciliation_of(text)', 'engine.asset_reconciliation_of(text)', 'engine.deposits_by_chain(text)',
    'ledger.booked_sums(text, timestamptz, timestamptz, text)', 'ledger.custody_postings(text, text, timestamptz, timestamptz)']
  LOOP
    EXECUTE format('ALTER FUNCTION %s SET max_parallel_workers_per_gather = 0', each::regprocedure);
    EXECUTE format('ALTER FUNCTION %s SET jit = off', each::regprocedure);
  END LOOP;
END $$;
--> statement-breakpoint
-- A new row may fill a gap in an old page, and then its whole range of pages is read for what came lately: short ranges.
ALTER INDEX ledger.transactions_first_seen_at SET (pages_per_range = 32);
ALTER INDEX ledger.transactions_changed_at SET (pages_per_range = 32);
--> statement-breakpoint
REINDEX INDEX ledger.transactions_first_seen_at;
--> statement-breakpoint
REINDEX INDEX ledger.transactions_changed_at;
--> statement-breakpoint
-- Postings name the list and the hash of their transaction, so that an export reads each transaction once.
CREATE OR REPLACE VIEW ledger.postings AS
SELECT seen.*
  FROM (SELECT t.order_no, p.posting_no, t.booked_at, p.account, p.symbol, p.amount, t.wallet, t.stream, t.tx_hash
          FROM (SELECT d.order_no, d.stream, d.symbol, d.to_address, d.amount, d.fee, d.fee_symbol, d.occurred_at AS booked_at,
                       d.wallet, d.tx_hash
                  FROM ledger.transactions d
                 WHERE d.stream IN ('deposit', 'withdraw') AND d.is_listed AND d.is_success AND d.occurred_at IS NOT NULL
                UNION ALL
                SELECT u.order_no, u.stream, u.symbol, u.to_address, u.amount, u.fee, u.fee_symbol, u.first_seen_at, u.wallet,
                       u.tx_hash
                  FROM ledger.transactions u
                 WHERE u.stream IN ('deposit', 'withdraw') AND u.is_listed AND u.is_success AND u.occurred_at IS NULL) AS t
         CROSS JOIN LATERAL (VALUES
           (1, coalesce((SELECT a.name FROM ledger.accounts a WHERE a.role = 'custody'), 'custody'), t.symbol,
            CASE t.stream WHEN 'deposit' THEN t.amount ELSE - t.amount END),
           (2, CASE t.stream
                 WHEN 'deposit' THEN
                   coalesce((SELECT a.name FROM ledger.accounts a WHERE a.role = 'customers'), 'customers')
                     || coalesce(':' || (SELECT h.assigned_to FROM ledger.addresses h
                                          WHERE h.wallet = t.wallet AND h.address_key = ledger.address_key(t.to_address)
                                            AND h.assigned_to IS NOT NULL
                                          ORDER BY h.slip44 LIMIT 1), '')
                 ELSE coalesce((SELECT a.name FROM ledger.accounts a WHERE a.role = 'withdrawn'), 'withdrawn') END, t.symbol,
            CASE t.stream WHEN 'deposit' THEN - t.amount ELSE t.amount END),
           (3, coalesce((SELECT a.name FROM ledger.accounts a WHERE a.role = 'custody'), 'custody'), t.fee_symbol,
            - nullif(t.fee, 0)),
           (4, coalesce((SELECT a.name FROM ledger.accounts a WHERE a.role = 'fees'), 'fees'), t.fee_symbol, nullif(t.fee, 0))
         ) AS p (posting_no, account, symbol, amount)
         WHERE p.symbol IS NOT NULL AND p.amount IS NOT NULL) AS seen
 WHERE (SELECT engine.seen_wallets(current_user)) IS NULL
    OR seen.wallet = ANY ((SELECT engine.seen_wallets(current_user))::text[]);
--> statement-breakpoint
COMMENT ON COLUMN ledger.postings.stream IS 'The list that shows the transaction: deposit or withdraw';
COMMENT ON COLUMN ledger.postings.tx_hash IS 'Transaction hash (txHash); null when the service gave none';
--> statement-breakpoint
-- A symbol has one chain, or one for each coin of a fee, and never both. Two joins compare whole keys; one join of both
-- kinds compared each day of a symbol with all of them.
CREATE OR REPLACE VIEW ledger.daily_totals AS
SELECT seen.*
  FROM (SELECT s.day, s.stream, s.symbol, coalesce(k.slip44, f.slip44) AS slip44, s.state, s.is_success,
               sum(s.transactions)::bigint AS transactions, CASE WHEN sum(s.amounts) > 0 THEN sum(s.amount) END AS amount,
               (sum(s.transactions) - sum(s.amounts))::bigint AS unknown_amounts, s.wallet
          FROM engine.daily_sums_now s
          LEFT JOIN ledger.known_chains k ON k.wallet = s.wallet AND k.symbol = s.symbol AND k.fee_symbol IS NULL
          LEFT JOIN ledger.known_chains f ON f.wallet = s.wallet AND f.symbol = s.symbol AND f.fee_symbol = s.fee_symbol
                                         AND s.stream = 'withdraw'
         GROUP BY s.wallet, s.day, s.stream, s.symbol, coalesce(k.slip44, f.slip44), s.state, s.is_success
        HAVING sum(s.transactions) <> 0) AS seen
 WHERE (SELECT engine.seen_wallets(current_user)) IS NULL
    OR seen.wallet = ANY ((SELECT engine.seen_wallets(current_user))::text[]);
--> statement-breakpoint
CREATE OR REPLACE VIEW ledger.daily_flows AS
SELECT seen.*
  FROM (SELECT g.day, g.symbol, g.stream AS type, g.state, sum(g.transactions)::bigint AS transactions,
               CASE WHEN sum(g.amounts) > 0 THEN sum(g.amount) END AS amount,
               coalesce(jsonb_object_agg(coalesce(g.fee_symbol, ''), g.fee) FILTER (WHERE g.fees > 0), '{}') AS fees,
               g.slip44, g.stream, g.is_success, g.wallet
          FROM (SELECT s.wallet, s.day, s.symbol, s.stream, s.state, s.is_success, s.fee_symbol,
                       coalesce(k.slip44, f.slip44) AS slip44, sum(s.transactions) AS transactions, sum(s.amounts) AS amounts,
                       sum(s.amount) AS amount, sum(s.fees) AS fees, sum(s.fee) AS fee
                  FROM engine.daily_sums_now s
                  LEFT JOIN ledger.known_chains k ON k.wallet = s.wallet AND k.symbol = s.symbol AND k.fee_symbol IS NULL
                  LEFT JOIN ledger.known_chains f ON f.wallet = s.wallet AND f.symbol = s.symbol AND f.fee_symbol = s.fee_symbol
                                                 AND s.stream = 'withdraw'
                 GROUP BY s.wallet, s.day, s.symbol, s.stream, s.state, s.is_success, s.fee_symbol, coalesce(k.slip44, f.slip44)
                HAVING sum(s.transactions) <> 0) AS g
         GROUP BY g.wallet, g.day, g.symbol, g.stream, g.state, g.slip44, g.is_success) AS seen
 WHERE (SELECT engine.seen_wallets(current_user)) IS NULL
    OR seen.wallet = ANY ((SELECT engine.seen_wallets(current_user))::text[]);
--> statement-breakpoint
CREATE OR REPLACE FUNCTION ledger.contract_version() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT '1.2' $$;
--> statement-breakpoint
DO $migration$
DECLARE
  former text := pg_get_viewdef('ledger.contract'::regclass);
  present text := regexp_replace(former, 'CASE[[:space:]]+WHEN(?=[^;]{0,80}internal_transfers)',
    'CASE WHEN c.relname = ''postings'' AND a.attname IN (''stream'', ''tx_hash'') THEN ''1.2'' WHEN');
BEGIN
  ASSERT present <> former;
  EXECUTE 'CREATE OR REPLACE VIEW ledger.contract AS ' || present;
END $migration$;
--> statement-breakpoint
SELECT engine.make_own_views();
--> statement-breakpoint
SELECT engine.settle_rights();
