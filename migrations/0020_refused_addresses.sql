ALTER TABLE "ledger"."addresses" ADD COLUMN "form" text;--> statement-breakpoint
ALTER TABLE "ledger"."addresses" ADD COLUMN "refused" text;--> statement-breakpoint
ALTER TABLE "ledger"."pools" ADD COLUMN "refused_at" timestamp with time zone;--> statement-breakpoint
CREATE INDEX "addresses_by_form" ON "ledger"."addresses" USING btree ("slip44","form");--> statement-breakpoint
CREATE INDEX "addresses_unjudged" ON "ledger"."addresses" USING btree ("slip44","address") WHERE "ledger"."addresses"."form" is null and "ledger"."addresses"."refused" is null;--> statement-breakpoint
ALTER TABLE "ledger"."addresses" ADD CONSTRAINT "addresses_refused" CHECK ("ledger"."addresses"."status" <> 'available' or ("ledger"."addresses"."refused" is null and "ledger"."addresses"."form" is distinct from 'misfit'));--> statement-breakpoint
ALTER TABLE "ledger"."addresses" ADD CONSTRAINT "addresses_form" CHECK ("ledger"."addresses"."form" in ('proven', 'plain', 'strange', 'misfit', 'other'));
-- Whoever was given an address that turned out to be none gets another one for the same reference.
DO $unrefused$
DECLARE
  definition text := pg_get_functiondef('engine.hand_out(integer, text, boolean)'::regprocedure);
  patched text;
  part record;
BEGIN
  FOR part IN
    SELECT * FROM (VALUES
      ('WHERE a.slip44 = hand_out.slip44 AND a.assigned_to = hand_out.reference
       ORDER BY a.assigned_no LIMIT 1;',
       'WHERE a.slip44 = hand_out.slip44 AND a.assigned_to = hand_out.reference AND a.refused IS NULL
       ORDER BY a.assigned_no LIMIT 1;'),
      ('FILTER (WHERE a.assigned_no IS NULL)', 'FILTER (WHERE a.assigned_no IS NULL AND a.refused IS NULL)'),
      ('number := 1;',
       'number := 1 + coalesce((SELECT max(a.assigned_no) FROM ledger.addresses a WHERE a.slip44 = hand_out.slip44
                                   AND a.assigned_to = hand_out.reference AND a.refused IS NOT NULL), 0);'),
      ('AND a.assigned_to = hand_out.reference AND a.assigned_no = 1;',
       'AND a.assigned_to = hand_out.reference AND a.assigned_no IS NOT NULL
     AND a.refused IS NULL ORDER BY a.assigned_no LIMIT 1;')) AS p (before, after)
  LOOP
    patched := replace(definition, part.before, part.after);
    IF patched = definition THEN
      RAISE EXCEPTION 'engine.hand_out has no %', part.before;
    END IF;
    definition := patched;
  END LOOP;
  EXECUTE definition;
END $unrefused$;
--> statement-breakpoint
DO $problems$
BEGIN
  EXECUTE format($view$
CREATE OR REPLACE VIEW ledger.problems AS
SELECT p.name, p.severity, p.since, p.what, p.cure
  FROM (SELECT o.* FROM (%s) AS o
        UNION ALL
        SELECT 'address_refused', 'critical', r.refused_at,
               'the service showed ' || n.refused || CASE WHEN n.refused = 1 THEN ' text that is no address' ELSE ' texts that are no addresses' END
                 || ' of chain ' || r.slip44 || coalesce(', ' || nullif(n.handed_out, 0) || ' of them handed out before that was known', '')
                 || '; nothing is generated for the chain',
               'ask those who run the service, `wallet-ledger rejects` shows what came; then run `wallet-ledger pool refill '
                 || r.slip44 || ' --resume`'
          FROM ledger.pools r
         CROSS JOIN LATERAL (SELECT count(*) AS refused, count(a.assigned_at) AS handed_out FROM ledger.addresses a
                              WHERE a.slip44 = r.slip44 AND a.refused IS NOT NULL) AS n
         WHERE r.refused_at IS NOT NULL) AS p
 ORDER BY p.severity, p.since, p.what$view$, rtrim(pg_get_viewdef('ledger.problems'::regclass), ';'));
END $problems$;
--> statement-breakpoint
COMMENT ON COLUMN ledger.addresses.form IS 'How the address fits its chain: proven (its checksum is right), plain (alphabet and length are right, it carries no checksum), strange (it does not, and no address of the chain ever did), misfit (it does not, and was listed before the list was shown to heed the chain: judged again before it may be available), other (the form of the chain is not known to the program); null when it was refused or not judged yet';
COMMENT ON COLUMN ledger.addresses.refused IS 'Why the text is no address of the chain: it is never available and never handed out again; null as a rule';
COMMENT ON COLUMN ledger.pools.refused_at IS 'When the service first showed a text that is no address of the chain; nothing is generated until `wallet-ledger pool refill <slip44> --resume`';
--> statement-breakpoint
SELECT engine.settle_rights();
