-- The cure named a command that decodes the stored payloads again, which helps after an update of this program alone.
DO $migration$
DECLARE
  definition text := pg_get_functiondef('engine.problems_of(text)'::regprocedure);
  former text := $sql$`wallet-ledger rejects` says why, and `wallet-ledger rejects retry` tries again$sql$;
  cure text := $sql$`wallet-ledger rejects` says why; once the service shows them readably, `wallet-ledger verify --repair` reads them again. After an update of wallet-ledger, `wallet-ledger rejects retry` decodes them again$sql$;
BEGIN
  ASSERT strpos(definition, former) > 0, former;
  EXECUTE replace(definition, former, cure);
END $migration$;
--> statement-breakpoint
SELECT engine.settle_rights();
