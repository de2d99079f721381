-- A chain that was taken out of ADDRESS_POOLS keeps its row while it is held back. Its list is not read any more, and it
-- needs a person only while it has addresses that could be handed out.
DO $migration$
DECLARE
  definition text := pg_get_functiondef('engine.problems_of(text)'::regprocedure);
  change text[];
BEGIN
  FOREACH change SLICE 1 IN ARRAY ARRAY[
    ['s.name IN (SELECT ''addresses:'' || p.slip44 FROM own.pools p)',
     's.name IN (SELECT ''addresses:'' || p.slip44 FROM own.pools p WHERE p.target > 0)'],
    ['FROM own.pools p WHERE p.chain_filter = ''broken''',
     'FROM own.pools p WHERE p.chain_filter = ''broken'' AND (p.target > 0 OR EXISTS (SELECT FROM own.addresses x WHERE x.slip44 = p.slip44 AND x.status = ''available''))'],
    ['WHERE p.refused_at IS NOT NULL',
     'WHERE p.refused_at IS NOT NULL AND (p.target > 0 OR EXISTS (SELECT FROM own.addresses x WHERE x.slip44 = p.slip44 AND x.status = ''available''))']
  ] LOOP
    ASSERT strpos(definition, change[1]) > 0, change[1];
    definition := replace(definition, change[1], change[2]);
  END LOOP;
  EXECUTE definition;
END $migration$;
