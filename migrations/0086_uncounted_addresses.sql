-- Rows deleted by hand stayed in the count of their address list, which so could be complete without them.
CREATE FUNCTION engine.uncount_addresses() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF TG_OP = 'TRUNCATE' THEN
    UPDATE ledger.streams s SET ledger_count = 0 WHERE s.name LIKE 'addresses:%' AND s.ledger_count <> 0;
  ELSE
    UPDATE ledger.streams s SET ledger_count = s.ledger_count - g.items
      FROM (SELECT d.wallet, d.slip44, sum(greatest(1, cardinality(d.listed_as))) AS items FROM gone d GROUP BY 1, 2) AS g
     WHERE s.wallet = g.wallet AND s.name = 'addresses:' || g.slip44;
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER addresses_uncounted AFTER DELETE ON ledger.addresses
  REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION engine.uncount_addresses();
--> statement-breakpoint
CREATE TRIGGER addresses_truncated AFTER TRUNCATE ON ledger.addresses
  FOR EACH STATEMENT EXECUTE FUNCTION engine.uncount_addresses();
--> statement-breakpoint
COMMENT ON FUNCTION engine.uncount_addresses() IS 'Trigger: deleted addresses leave the count of their list';
--> statement-breakpoint
SELECT engine.settle_rights();
