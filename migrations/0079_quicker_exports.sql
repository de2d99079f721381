-- Rows that have all values are passed over before each of their values is asked for.
CREATE OR REPLACE VIEW ledger.unposted_values AS
SELECT t.order_no, m.missing, t.booked_at, t.stream, t.symbol, t.wallet
  FROM (SELECT d.order_no, d.stream, d.symbol, d.amount, d.fee, d.fee_symbol, d.detail_synced_at, d.occurred_at AS booked_at,
               d.wallet
          FROM ledger.transactions d
         WHERE d.stream IN ('deposit', 'withdraw') AND d.is_listed AND d.is_success AND d.occurred_at IS NOT NULL
        UNION ALL
        SELECT u.order_no, u.stream, u.symbol, u.amount, u.fee, u.fee_symbol, u.detail_synced_at, u.first_seen_at, u.wallet
          FROM ledger.transactions u
         WHERE u.stream IN ('deposit', 'withdraw') AND u.is_listed AND u.is_success AND u.occurred_at IS NULL) AS t
 CROSS JOIN LATERAL (VALUES
   ('amount', t.amount IS NULL),
   ('symbol', t.symbol IS NULL),
   ('fee', t.fee IS NULL
             AND (t.detail_synced_at IS NULL
                  OR EXISTS (SELECT FROM ledger.rejects r
                              WHERE r.wallet = t.wallet AND r.order_no = t.order_no AND r.resolved_at IS NULL
                                AND r.field = 'fee'))),
   ('fee_symbol', t.fee <> 0 AND t.fee_symbol IS NULL)
 ) AS m (missing, is_missing)
 WHERE m.is_missing
   AND (t.amount IS NULL OR t.symbol IS NULL OR t.fee IS NULL OR t.fee <> 0 AND t.fee_symbol IS NULL)
   AND ((SELECT engine.seen_wallets(current_user)) IS NULL
        OR t.wallet = ANY ((SELECT engine.seen_wallets(current_user))::text[]));
