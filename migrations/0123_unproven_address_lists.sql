-- An address list that is not proven was no problem for an hour: the verdict said that all is well above it. A list of
-- transactions is one after five minutes. An address list gets two of its intervals, too.
DO $migration$
DECLARE
  definition text := pg_get_functiondef('engine.problems_of(text)'::regprocedure);
  change text[];
BEGIN
  FOREACH change SLICE 1 IN ARRAY ARRAY[
    [$sql$l.is_address_list,
$sql$,
     $sql$l.is_address_list,
           -- Too few runs tell no pace: then the default one counts.
           CASE WHEN NOT l.is_address_list THEN j.patience
                ELSE greatest(interval '5 minutes', 2 * coalesce(nullif(j.pace, interval '0'), interval '10 minutes')) END AS proof_patience,
$sql$],
    [$sql$AND (u.unproven_since < now() - u.patience
$sql$,
     $sql$AND (u.unproven_since < now() - u.proof_patience
$sql$]
  ] LOOP
    ASSERT strpos(definition, change[1]) > 0, change[1];
    definition := replace(definition, change[1], change[2]);
  END LOOP;
  EXECUTE definition;
END $migration$;
--> statement-breakpoint
SELECT engine.settle_rights();
