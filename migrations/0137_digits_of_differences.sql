-- The sum of amounts with many decimals keeps their scale, and so meaningless zeros.
DO $migration$
DECLARE
  definition text := pg_get_functiondef('engine.problems_of(text)'::regprocedure);
  piece text := 'abs(d.amount)';
BEGIN
  ASSERT cardinality(string_to_array(definition, piece)) = 2, piece;
  EXECUTE replace(definition, piece, 'trim_scale(abs(d.amount))');
END $migration$;
--> statement-breakpoint
DO $migration$
DECLARE
  f record;
  definition text;
BEGIN
  FOR f IN
    SELECT v.name::regproc, v.pieces
      FROM (VALUES
        ('ledger.reconcile', ARRAY['explain, '' || w.open_amount', 'w.open_amount']),
        ('ledger.reconcile_assets', ARRAY['unknown chain: '' || w.open_amount', 'w.open_amount']),
        ('ledger.reconcile_assets', ARRAY['w.open_amount::text', 'w.open_amount']),
        ('ledger.reconcile_assets', ARRAY['|| w.unassigned', 'w.unassigned']),
        ('ledger.standing_difference', ARRAY['|| last.difference ||', 'last.difference'])) AS v (name, pieces)
  LOOP
    definition := pg_get_functiondef(f.name);
    ASSERT strpos(definition, f.pieces[1]) > 0, f.pieces[1];
    EXECUTE replace(definition, f.pieces[1], replace(f.pieces[1], f.pieces[2], format('trim_scale(%s)', f.pieces[2])));
  END LOOP;
END $migration$;
--> statement-breakpoint
SELECT engine.settle_rights();
