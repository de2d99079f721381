-- Where several wallets are read, a command has to name one. The cures of a wallet's problems do, so that they can be
-- typed as they stand, whoever shows them.
DO $migration$
DECLARE
  definition text := pg_get_viewdef('ledger.problems'::regclass, true);
  cure text := $cure$
            CASE WHEN (SELECT count(*) FROM engine.wallet_names) < 2 THEN o.cure
                 ELSE regexp_replace(o.cure,
                   '`(wallet-ledger (backfill|close|doctor|export|migrate --wallet-key|pool|rejects|show|status|sync|verify)\y(?![^`]* --wallet )[^`]*)`',
                   '`\1 --wallet ' || w.wallet || '`', 'g') END AS cure,
            w.wallet$cure$;
BEGIN
  ASSERT strpos(definition, E'o.cure,\n            w.wallet') > 0;
  EXECUTE 'CREATE OR REPLACE VIEW ledger.problems AS ' || replace(definition, E'o.cure,\n            w.wallet', cure);
END $migration$;
