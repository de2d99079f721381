-- A row written by hand need not know which list counts it.
CREATE FUNCTION ledger.set_stream_by_type() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.stream := CASE lower(btrim(NEW.type)) WHEN 'withdraw' THEN 'withdraw' ELSE 'deposit' END;
  RETURN NEW;
END $$;
--> statement-breakpoint
CREATE TRIGGER transactions_stream BEFORE INSERT ON ledger.transactions
  FOR EACH ROW WHEN (NEW.stream IS NULL) EXECUTE FUNCTION ledger.set_stream_by_type();
--> statement-breakpoint
COMMENT ON FUNCTION ledger.set_stream_by_type IS 'Sets transactions.stream by type where an insert does not give it';
