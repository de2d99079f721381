-- Three counts of each chain read its addresses three times: 3 s for 1,000,000 addresses of four chains. Now they are
-- read once, and only where one of the counts is asked for.
CREATE OR REPLACE VIEW ledger.pool_levels AS
SELECT seen.* FROM (
WITH RECURSIVE known (wallet, slip44) AS (
  (SELECT a.wallet, a.slip44 FROM ledger.addresses a ORDER BY a.wallet, a.slip44 LIMIT 1)
  UNION ALL
  SELECT n.wallet, n.slip44
    FROM known k
   CROSS JOIN LATERAL (SELECT a.wallet, a.slip44 FROM ledger.addresses a
                        WHERE (a.wallet, a.slip44) > (k.wallet, k.slip44)
                        ORDER BY a.wallet, a.slip44 LIMIT 1) AS n
),
chains AS (
  SELECT k.wallet, k.slip44 FROM known k
  UNION
  SELECT p.wallet, p.slip44 FROM ledger.pools p
)
SELECT c.slip44,
       (SELECT count(*) FROM ledger.addresses a
         WHERE a.wallet = c.wallet AND a.slip44 = c.slip44 AND a.status = 'available') AS available,
       counted.assigned,
       counted.used,
       p.threshold,
       p.target,
       (SELECT coalesce(sum(greatest(r.num, r.received)), 0) FROM ledger.address_requests r
         WHERE r.wallet = c.wallet AND r.slip44 = c.slip44 AND r.state <> 'failed'
           AND (r.state IN ('sent', 'unknown') OR r.requested_at > now() - interval '24 hours 10 minutes')) AS generated_24h,
       (SELECT round((SELECT count(*) FROM ledger.addresses a
                       WHERE a.wallet = c.wallet AND a.slip44 = c.slip44 AND a.status = 'available') * 7.0
                     / nullif(count(*), 0), 1)
          FROM ledger.addresses u
         WHERE u.wallet = c.wallet AND u.slip44 = c.slip44 AND u.assigned_at > now() - interval '7 days') AS days_left,
       counted.foreign_addresses,
       c.wallet
  FROM chains c
  LEFT JOIN ledger.pools p ON p.wallet = c.wallet AND p.slip44 = c.slip44
  LEFT JOIN LATERAL (
    SELECT count(*) FILTER (WHERE a.status = 'assigned') AS assigned, count(*) FILTER (WHERE a.status = 'used') AS used,
           count(*) FILTER (WHERE a.status = 'foreign') AS foreign_addresses
      FROM ledger.addresses a WHERE a.wallet = c.wallet AND a.slip44 = c.slip44) AS counted ON true) AS seen
 WHERE (SELECT engine.seen_wallets(current_user)) IS NULL
    OR seen.wallet = ANY ((SELECT engine.seen_wallets(current_user))::text[]);
