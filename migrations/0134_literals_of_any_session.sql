-- A plain literal with a backslash reads differently in a session with standard_conforming_strings = off; E'…' does not.
DO $migration$
DECLARE
  changed regprocedure;
  literal text;
  definition text;
BEGIN
  FOR changed, literal IN
    SELECT * FROM (VALUES
      ('engine.problems_of(text)'::regprocedure, $sql$'^[^\r\n]+'$sql$),
      ('ledger.address_key(text)', $sql$'[\s:?#|,;]'$sql$),
      ('ledger.base32_words(text,text)', $sql$'@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\]^_'$sql$),
      ('ledger.long_base58_key(text)', $sql$'\x0544'$sql$),
      ('ledger.long_base58_key(text)', $sql$'\x0493'$sql$),
      ('ledger.long_base58_key(text)', $sql$'\x00000000'$sql$),
      ('ledger.long_base58_key(text)', $sql$'\x00'$sql$),
      ('ledger.reconcile(timestamptz)', $sql$'"(?:amount|balance)"\s*:\s*"?(-?\d{1,40}(?:\.\d{1,40})?)"?\s*[,}]'$sql$),
      ('ledger.reconcile(timestamptz)', $sql$'"symbol"\s*:\s*"([^"\\]+)"'$sql$),
      ('ledger.reconcile(timestamptz)', $sql$'"feeSymbol"\s*:\s*"([^"\\]+)"'$sql$),
      ('ledger.respelled_address_key(text)', $sql$'\s'$sql$),
      ('ledger.ton_text(integer,bytea)', $sql$'\x11'$sql$)
    ) AS plain
  LOOP
    definition := pg_get_functiondef(changed);
    ASSERT strpos(definition, literal) > 0, literal;
    EXECUTE replace(definition, literal, 'E' || replace(literal, E'\\', E'\\\\'));
  END LOOP;
END $migration$;
--> statement-breakpoint
SELECT engine.settle_rights();
