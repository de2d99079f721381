-- A row from before the closed months changes what the first of them begins with, and was no late entry. It is one now,
-- as far as it moves money: the books of the month hold such rows only as a sum.
DROP FUNCTION engine.closed_lines(text, text, text, numeric, numeric, text, boolean, timestamptz);
--> statement-breakpoint
CREATE FUNCTION engine.closed_lines(of_wallet text, stream text, of_symbol text, amount numeric, fee numeric, fee_symbol text,
                                    is_booked boolean, booked_at timestamptz)
RETURNS TABLE (month date, symbol text, effect numeric, is_of_month boolean)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
SELECT m.month, l.symbol, l.effect, m.month = b.month
  FROM (SELECT date_trunc('month', booked_at AT TIME ZONE 'UTC')::date AS month) AS b
 CROSS JOIN LATERAL (SELECT min(c.month) AS month FROM ledger.closed_months c
                      WHERE c.wallet = of_wallet AND c.month >= b.month) AS m
 CROSS JOIN LATERAL (
    SELECT of_symbol, CASE WHEN NOT is_booked THEN 0 WHEN stream = 'deposit' THEN amount ELSE - amount END
    UNION ALL
    SELECT fee_symbol, - fee WHERE is_booked AND fee <> 0 AND fee_symbol IS NOT NULL) AS l (symbol, effect)
 WHERE m.month IS NOT NULL
$$;
--> statement-breakpoint
COMMENT ON FUNCTION engine.closed_lines IS 'Lines of a row in the closed books that it changes: those of its month, otherwise those of the next closed month, which begin with it';
--> statement-breakpoint
DO $migration$
DECLARE
  f record;
  definition text;
BEGIN
  FOR f IN
    SELECT * FROM (VALUES
      ('engine.note_inserted_late()', 'GROUP BY n.wallet, l.month, n.order_no, l.symbol',
       'GROUP BY n.wallet, l.month, n.order_no, l.symbol HAVING bool_or(l.is_of_month) OR sum(l.effect) <> 0'),
      ('engine.note_deleted_late()', 'GROUP BY o.wallet, l.month, o.order_no, l.symbol',
       'GROUP BY o.wallet, l.month, o.order_no, l.symbol HAVING bool_or(l.is_of_month) OR sum(l.effect) <> 0'),
      ('engine.note_updated_late()', 'HAVING NOT bool_or(c.is_first_detail) OR',
       'HAVING bool_or(l.is_of_month) AND NOT bool_or(c.is_first_detail) OR')) AS v (name, former, present)
  LOOP
    definition := pg_get_functiondef(f.name::regprocedure);
    ASSERT strpos(definition, f.former) > 0, f.name;
    EXECUTE replace(definition, f.former, f.present);
  END LOOP;
END $migration$;
--> statement-breakpoint
COMMENT ON TABLE ledger.late_entries IS 'Changes after a month was closed (closed_months): one row per order, coin and statement that came, changed or vanished, written in the transaction that changed the ledger. A row from before the closed months is an entry of the first one, which begins with it, if it moves money';
COMMENT ON COLUMN ledger.late_entries.month IS 'First day of the closed month (UTC): that of the row, or the first one after it';
COMMENT ON COLUMN ledger.late_entries.amount_change IS 'By how much the entry changes the coins in custody up to the end of that month, in units of the coin; 0 when it moved no money (a pending transaction, for example), null while the amount is not known: the entry that makes it known has all of it';
--> statement-breakpoint
SELECT engine.make_own_views();
--> statement-breakpoint
SELECT engine.settle_rights();
