-- The first detail of a row that came late was a second late entry, which changed no amount. What it adds may still move
-- money: a withdrawal's fee, for example.
CREATE OR REPLACE FUNCTION engine.note_updated_late() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  PERFORM engine.share_closing(engine.wallet());
  PERFORM engine.share_closing(w.wallet) FROM (SELECT o.wallet FROM old_rows o WHERE o.wallet <> (SELECT engine.wallet()) UNION SELECT n.wallet FROM new_rows n WHERE n.wallet <> (SELECT engine.wallet()) ORDER BY 1) AS w;
  IF NOT EXISTS (SELECT FROM ledger.closed_months) THEN RETURN NULL; END IF;
  INSERT INTO ledger.late_entries (wallet, month, order_no, kind, symbol, amount_change)
  WITH changed AS (
    SELECT CASE WHEN o.is_listed IS NOT TRUE THEN 'new' WHEN n.is_listed IS NOT TRUE THEN 'unlisted' ELSE 'changed' END AS kind,
           coalesce(o.detail_synced_at IS NULL AND o.first_detail_at IS NULL AND n.first_detail_at IS NOT NULL
             AND (o.stream, o.is_listed) = (n.stream, n.is_listed) AND o.occurred_at IS NOT DISTINCT FROM n.occurred_at
             AND (coalesce(o.symbol, n.symbol), coalesce(o.amount, n.amount), coalesce(o.fee, n.fee),
                  coalesce(o.fee_symbol, n.fee_symbol), coalesce(o.state, n.state))
                 IS NOT DISTINCT FROM (n.symbol, n.amount, n.fee, n.fee_symbol, n.state), false) AS is_first_detail,
           x.*
      FROM old_rows o FULL JOIN new_rows n ON n.wallet = o.wallet AND n.order_no = o.order_no
     CROSS JOIN LATERAL (VALUES
       (-1, o.wallet, o.order_no, o.stream, o.symbol, o.amount, o.fee, o.fee_symbol, o.is_listed, o.is_success,
        coalesce(o.occurred_at, o.first_seen_at)),
       (1, n.wallet, n.order_no, n.stream, n.symbol, n.amount, n.fee, n.fee_symbol, n.is_listed, n.is_success,
        coalesce(n.occurred_at, n.first_seen_at))
     ) AS x (sign, wallet, order_no, stream, symbol, amount, fee, fee_symbol, is_listed, is_success, booked_at)
     WHERE (o.is_listed OR n.is_listed) AND x.wallet IS NOT NULL
       AND (o.stream, o.symbol, o.amount, o.fee, o.fee_symbol, o.state, o.is_success, o.is_listed, o.occurred_at)
           IS DISTINCT FROM (n.stream, n.symbol, n.amount, n.fee, n.fee_symbol, n.state, n.is_success, n.is_listed, n.occurred_at)
  )
  SELECT c.wallet, l.month, c.order_no, c.kind, l.symbol,
         CASE WHEN bool_or(c.sign = 1 AND l.effect IS NULL) THEN nullif(sum(c.sign * l.effect), 0)
              ELSE coalesce(sum(c.sign * l.effect), 0) END
    FROM changed c
   CROSS JOIN LATERAL engine.closed_lines(c.wallet, c.stream, c.symbol, c.amount, c.fee, c.fee_symbol,
                                          c.is_listed AND c.is_success, c.booked_at) AS l
   GROUP BY c.wallet, l.month, c.order_no, c.kind, l.symbol
  HAVING NOT bool_or(c.is_first_detail) OR coalesce(sum(c.sign * l.effect), 0) <> 0
   ORDER BY c.wallet, c.order_no;
  RETURN NULL;
END $$;
--> statement-breakpoint
COMMENT ON COLUMN ledger.late_entries.kind IS 'new: the transaction came or was listed again; unlisted: the service no longer lists it, or it was deleted; changed: its coin, amount, fee, state or time changed. What its first detail adds to it is an entry only where it moves money, as a fee does';
