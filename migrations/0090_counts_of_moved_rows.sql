-- Each moved row wrote the counts of its list and its day, and within a transaction each such write passes the versions
-- that the earlier ones left: taking many rows off a list at once took a time that grew with the square of their number.
-- A row that moved to another day changed the counts of its days alone, so what reads them under the lock of the list's
-- row did not wait for it.
DROP TRIGGER transactions_moved ON ledger.transactions;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION ledger.count_moved() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  days record;
BEGIN
  -- Summed per row first: a day that one row left and another one entered has the same count, but other rows.
  SELECT array_agg(d.wallet) AS wallets, array_agg(d.stream) AS streams, array_agg(d.day) AS days, array_agg(d.listed) AS listed
    INTO days
    FROM (SELECT r.wallet, r.stream, r.day, sum(r.listed) AS listed
            FROM (SELECT p.wallet, p.stream, p.order_no, (p.at AT TIME ZONE 'UTC')::date AS day, sum(p.listed) AS listed
                    FROM (SELECT o.wallet, o.stream, o.order_no, ledger.listed_at(o.occurred_at, o.list_word) AS at, -1 AS listed
                            FROM old_rows o WHERE o.is_listed
                          UNION ALL
                          SELECT n.wallet, n.stream, n.order_no, ledger.listed_at(n.occurred_at, n.list_word), 1
                            FROM new_rows n WHERE n.is_listed) AS p
                   WHERE p.at IS NOT NULL
                   GROUP BY 1, 2, 3, 4 HAVING sum(p.listed) <> 0) AS r
           GROUP BY 1, 2, 3) AS d;
  INSERT INTO ledger.streams AS s (wallet, name, ledger_count, conflicts)
  SELECT p.wallet, d.name, sum(p.sign * d.listed), sum(p.sign * d.conflict)
    FROM (SELECT -1 AS sign, o.wallet, o.stream, o.is_listed, o.also_listed_in FROM old_rows o
          UNION ALL
          SELECT 1, n.wallet, n.stream, n.is_listed, n.also_listed_in FROM new_rows n) AS p
   CROSS JOIN LATERAL (
         VALUES (p.stream, p.is_listed::integer, (p.also_listed_in IS NOT NULL)::integer),
                (p.also_listed_in, 0, 1)) AS d (name, listed, conflict)
   WHERE d.name IS NOT NULL
   GROUP BY p.wallet, d.name
  HAVING sum(p.sign * d.listed) <> 0 OR sum(p.sign * d.conflict) <> 0
      -- Locks the row of a list whose days change.
      OR (p.wallet, d.name) IN (SELECT * FROM unnest(days.wallets, days.streams))
   ORDER BY p.wallet, d.name
  ON CONFLICT (wallet, name) DO UPDATE
    SET ledger_count = s.ledger_count + excluded.ledger_count, conflicts = s.conflicts + excluded.conflicts;
  INSERT INTO ledger.coverage AS c (wallet, stream, day, transactions)
  SELECT d.wallet, d.stream, d.day, d.listed
    FROM unnest(days.wallets, days.streams, days.days, days.listed) AS d (wallet, stream, day, listed)
   ORDER BY 1, 2, 3
  ON CONFLICT (wallet, stream, day) DO UPDATE
    SET transactions = c.transactions + excluded.transactions, verified_at = NULL;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER transactions_moved AFTER UPDATE ON ledger.transactions
  REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION ledger.count_moved();
--> statement-breakpoint
ALTER FUNCTION engine.recount_use(text, text[]) SET jit = off;
