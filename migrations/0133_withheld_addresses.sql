-- An address that the service's list no longer shows is not handed out until it does.
ALTER TABLE "ledger"."addresses" ADD COLUMN "withheld_at" timestamp with time zone;
--> statement-breakpoint
COMMENT ON COLUMN ledger.addresses.withheld_at IS 'Since when the address, which was available, is withheld because the service''s list no longer shows it; null: it is not';
--> statement-breakpoint
COMMENT ON COLUMN ledger.addresses.status IS 'available: can be handed out; assigned: handed out, here or on another chain; used: has a deposit in a success state; foreign: never handed out, because nothing proves that this ledger generated it, because it has a deposit in another state and was never assigned, or because it is withheld (withheld_at)';
--> statement-breakpoint
-- A withheld address was this ledger's own.
DO $migration$
DECLARE
  definition text := pg_get_functiondef('engine.notice_foreign(integer)'::regprocedure);
  piece text := $sql$AND a.set_aside_epoch IS NULL$sql$;
BEGIN
  ASSERT strpos(definition, piece) > 0, piece;
  EXECUTE replace(definition, piece, piece || $sql$ AND a.withheld_at IS NULL$sql$);
END $migration$;
--> statement-breakpoint
DO $migration$
DECLARE
  definition text := pg_get_functiondef('engine.problems_of(text)'::regprocedure);
  piece text := $sql$left(substring(u.not_complete_because, '^[^\r\n]+'), 300))
      FROM unproven u$sql$;
BEGIN
  ASSERT strpos(definition, piece) > 0, piece;
  EXECUTE replace(definition, piece, $sql$CASE
                  WHEN u.is_address_list AND u.is_known_difference AND u.accepted_difference < 0
                    THEN format('%s of the ledger''s addresses are not on the list; available ones that it has shown before are withheld', -u.accepted_difference)
                  ELSE left(substring(u.not_complete_because, '^[^\r\n]+'), 300) END)
      FROM unproven u$sql$);
END $migration$;
--> statement-breakpoint
SELECT engine.make_own_views();
--> statement-breakpoint
SELECT engine.settle_rights();
