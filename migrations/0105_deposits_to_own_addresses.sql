-- An address that this ledger generated is its own, also while a deposit to it does not count yet. One that was set
-- aside when the database moved may be a customer's, also once a deposit to it counts. A pool that a move has emptied is
-- empty since then.
CREATE OR REPLACE VIEW ledger.unexpected_deposits AS
SELECT x.order_no, x.symbol, x.amount, x.to_address, x.kind, x.is_suspicious, x.occurred_at, w.wallet
  FROM engine.wallet_names w
 CROSS JOIN LATERAL (
  WITH deposits AS MATERIALIZED (
    SELECT t.order_no, t.symbol, t.amount, t.to_address, t.occurred_at
      FROM ledger.transactions t
     WHERE t.wallet = w.wallet AND t.stream = 'deposit' AND t.is_listed AND t.to_address IS NOT NULL
       AND t.occurred_at > now() - interval '7 days'
     ORDER BY t.occurred_at DESC LIMIT 2000
  ),
  first_proofs AS MATERIALIZED (
    SELECT p.slip44, (SELECT min(s.observed_at) FROM ledger.stream_proofs s
                       WHERE s.wallet = w.wallet AND s.name = 'addresses:' || p.slip44 AND s.is_complete) AS at
      FROM ledger.pools p WHERE p.wallet = w.wallet
  ),
  unexpected AS MATERIALIZED (
    SELECT d.order_no, d.symbol, d.amount, d.to_address, d.occurred_at
      FROM deposits d
      LEFT JOIN LATERAL (SELECT true AS is_ours FROM ledger.addresses l
                          WHERE l.wallet = w.wallet AND l.address_key = ledger.address_key(d.to_address)
                            AND (l.assigned_at IS NOT NULL OR l.status NOT IN ('foreign', 'used')
                                   OR l.generated_by IS NOT NULL AND l.set_aside_epoch IS NULL)
                          LIMIT 1) AS o ON true
     WHERE o.is_ours IS NULL
  ),
  read_symbols AS MATERIALIZED (
    SELECT c.symbol, bool_and(coalesce(s.is_backed, false)) AS is_read
      FROM ledger.coins c
      LEFT JOIN ledger.pools p ON p.wallet = c.wallet AND p.slip44 = c.slip44
      LEFT JOIN ledger.streams s ON s.wallet = c.wallet AND s.name = 'addresses:' || p.slip44
     WHERE c.wallet = w.wallet
     GROUP BY c.symbol
  )
  SELECT u.order_no, u.symbol, u.amount, u.to_address,
         CASE WHEN k.addresses > 0 THEN 'foreign' ELSE 'unknown' END AS kind,
         CASE WHEN k.addresses > 0 THEN k.is_later ELSE coalesce(r.is_read, false) END AS is_suspicious,
         u.occurred_at
    FROM unexpected u
   CROSS JOIN LATERAL (
      SELECT count(*) AS addresses, coalesce(bool_or(l.first_seen_at > f.at), false) AS is_later
        FROM ledger.addresses l LEFT JOIN first_proofs f ON f.slip44 = l.slip44
       WHERE l.wallet = w.wallet AND l.address_key = ledger.address_key(u.to_address)) AS k
    LEFT JOIN read_symbols r ON r.symbol = u.symbol) AS x;
--> statement-breakpoint
SELECT engine.make_own_views();
--> statement-breakpoint
DO $migration$
DECLARE
  definition text := pg_get_functiondef('engine.problems_of(text)'::regprocedure);
  piece CONSTANT text := '           format(''%s recent %s went to addresses that this ledger did not generate'', count(*),
                  CASE WHEN count(*) = 1 THEN ''deposit'' ELSE ''deposits'' END)';
  since CONSTANT text := 'coalesce((SELECT x.assigned_at FROM own.addresses x
                      WHERE x.slip44 = p.slip44 AND x.assigned_at IS NOT NULL
                      ORDER BY x.assigned_at DESC OFFSET CASE WHEN a.available = 0 THEN 0 ELSE greatest(p.threshold - a.available - 1, 0) END LIMIT 1),
                    (SELECT max(x.first_seen_at) FROM own.addresses x WHERE x.slip44 = p.slip44 AND x.status = ''available''),
                    p.last_error_at, j.first_started_at)';
BEGIN
  ASSERT strpos(definition, piece) > 0, piece;
  EXECUTE replace(definition, piece,
'           format(''%s recent %s that this ledger did not generate, or set aside when the database moved'', count(*),
                  CASE WHEN count(*) = 1 THEN ''deposit went to an address'' ELSE ''deposits went to addresses'' END)');
  definition := pg_get_functiondef('engine.problems_of(text)'::regprocedure);
  ASSERT strpos(definition, since) > 0, since;
  EXECUTE replace(definition, since, 'greatest(' || since || ', (SELECT max(m.healed_at) FROM engine.moves m WHERE a.available < p.threshold))');
END $migration$;
