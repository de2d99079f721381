-- The program never makes an address available again that was handed out: whoever does it puts an older copy of the
-- rows in place, and what was handed out since is not known.
CREATE FUNCTION engine.notice_giving_back() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  PERFORM engine.disturb_home('addresses that had been handed out were made available again');
  RETURN NULL;
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION engine.notice_giving_back IS 'Trigger: whoever makes addresses available again has put an older copy of them in place';
--> statement-breakpoint
CREATE TRIGGER addresses_given_back AFTER UPDATE OF status ON ledger.addresses
  FOR EACH ROW WHEN (new.status = 'available' AND old.assigned_at IS NOT NULL) EXECUTE FUNCTION engine.notice_giving_back();
--> statement-breakpoint
SELECT engine.settle_rights();
