-- Roles that may see some wallets only. Their names are kept here, because the views of ledger run with the rights of
-- the ledger's owner, whom row-level security does not concern: they ask for the session's role themselves.
CREATE TABLE engine.reader_wallets (
  wallet text NOT NULL,
  role name NOT NULL,
  CONSTRAINT reader_wallets_wallet_role_pk PRIMARY KEY (wallet, role)
);
--> statement-breakpoint
COMMENT ON TABLE engine.reader_wallets IS 'Roles that see the rows of some wallets only, one row for each role and wallet';
COMMENT ON COLUMN engine.reader_wallets.wallet IS 'Wallet whose rows the role sees';
COMMENT ON COLUMN engine.reader_wallets.role IS 'Name of the role; its members are restricted as well';
--> statement-breakpoint
CREATE FUNCTION engine.seen_wallets(reader name) RETURNS text[]
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM engine.reader_wallets) THEN RETURN NULL; END IF;
  RETURN (SELECT array_agg(w.wallet)
            FROM engine.reader_wallets w
            JOIN pg_roles role ON role.rolname = w.role
            JOIN pg_roles own ON own.rolname = reader AND NOT own.rolsuper
           WHERE pg_has_role(own.oid, role.oid, 'usage')
             AND NOT EXISTS (SELECT FROM pg_class c
                              WHERE c.oid = 'ledger.transactions'::regclass AND pg_has_role(own.oid, c.relowner, 'usage')));
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION engine.seen_wallets IS 'Wallets whose rows the role may see; null for all of them';
--> statement-breakpoint
DO $views$
DECLARE
  v record;
BEGIN
  FOR v IN
    SELECT c.oid::regclass AS relation, pg_get_viewdef(c.oid) AS definition,
           (SELECT string_agg(format('((SELECT engine.seen_wallets(current_user)) IS NULL OR seen.%I = ANY ((SELECT engine.seen_wallets(current_user))::text[]))',
                                     w.attname), ' AND ')
              FROM pg_attribute w WHERE w.attrelid = c.oid AND w.attname IN ('wallet', 'to_wallet')) AS is_seen
      FROM pg_class c
     WHERE c.relkind = 'v' AND (c.relnamespace = 'ledger'::regnamespace OR c.oid = 'engine.wallet_names'::regclass)
  LOOP
    CONTINUE WHEN v.is_seen IS NULL;
    EXECUTE format('CREATE OR REPLACE VIEW %s AS SELECT seen.* FROM (%s) AS seen WHERE %s',
                   v.relation, rtrim(v.definition, ';'), v.is_seen);
  END LOOP;
END $views$;
--> statement-breakpoint
-- For the first role that sees one wallet only: a role that backs the ledger up with pg_dump needs to be its owner then.
CREATE FUNCTION engine.restrict_readers() RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  t regclass;
BEGIN
  FOR t IN
    SELECT c.oid FROM pg_class c JOIN pg_attribute w ON w.attrelid = c.oid AND w.attname = 'wallet'
     WHERE c.relkind = 'r' AND c.relnamespace = 'ledger'::regnamespace AND NOT c.relrowsecurity
  LOOP
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', t);
    EXECUTE format('CREATE POLICY seen_wallets ON %s USING ((SELECT engine.seen_wallets(current_user)) IS NULL OR wallet = ANY ((SELECT engine.seen_wallets(current_user))::text[]))', t);
  END LOOP;
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION engine.restrict_readers IS 'Restricts roles of engine.reader_wallets to the rows of their wallets, in every table of ledger';
--> statement-breakpoint
SELECT engine.make_own_views();
--> statement-breakpoint
SELECT engine.settle_rights();
