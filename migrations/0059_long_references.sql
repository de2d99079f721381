-- The chain filter is shown by more than an unused chain. A result of an earlier version may rest on a refusal alone, so
-- it counts as old: the next filling needs evidence again.
UPDATE ledger.pools SET chain_filter_at = chain_filter_at - interval '1 day' WHERE chain_filter = 'works';
--> statement-breakpoint
COMMENT ON COLUMN ledger.pools.chain_filter IS 'works: the address list was shown to honour the chain parameter; broken: it lists the same addresses for a chain that does not exist, or an address that only another chain can have, so nothing is generated or handed out; null: not known yet';
--> statement-breakpoint
DO $$
DECLARE
  old text := pg_get_functiondef('engine.problems_of(text)'::regprocedure);
  new text := replace(old, $old$' ignores the chain parameter: with ' || p.chain_param
             || ' for a chain that does not exist, it shows the same addresses'$old$,
    $new$' ignores the chain parameter ' || p.chain_param
             || ': it shows addresses of other chains as well'$new$);
BEGIN
  IF new = old THEN RAISE EXCEPTION 'engine.problems_of does not tell of a broken chain filter'; END IF;
  EXECUTE new;
END $$;
--> statement-breakpoint
-- A longer reference may not fit into the index of references, whose error names neither it nor a limit.
CREATE OR REPLACE FUNCTION engine.admit_take(wallet text, slip44 integer, reference text, is_further boolean) RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
  bytes_max CONSTANT integer := 2000;
BEGIN
  IF slip44 IS NULL THEN
    RAISE EXCEPTION 'no chain is named: the first argument is its slip44 code' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  IF btrim(reference, E' \t\r\n') = '' THEN
    RAISE EXCEPTION 'the reference is empty: name whom the address is for, or pass null for an address without one'
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  IF octet_length(reference) > bytes_max THEN
    RAISE EXCEPTION 'the reference has % bytes, and at most % are accepted', octet_length(reference), bytes_max
      USING ERRCODE = 'invalid_parameter_value', HINT = 'pass the key under which you keep the customer or order';
  END IF;
  IF is_further AND reference IS NULL THEN
    RAISE EXCEPTION 'a further address needs a reference; without one each call of take_address gives another address'
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  PERFORM engine.bound_idle_time();
  PERFORM engine.require_quota(wallet, slip44);
END $$;
--> statement-breakpoint
-- Adds the length to the one expression of rare cases. The number is that of engine.admit_take.
DO $$
DECLARE
  old text := pg_get_functiondef('engine.hand_out(text,integer,text,boolean)'::regprocedure);
  new text := replace(old, $old$OR pg_current_xact_id_if_assigned() IS NOT NULL OR current_setting($old$,
    $new$OR octet_length(hand_out.reference) > 2000
     OR pg_current_xact_id_if_assigned() IS NOT NULL OR current_setting($new$);
BEGIN
  IF new = old THEN RAISE EXCEPTION 'engine.hand_out has no expression of rare cases'; END IF;
  EXECUTE new;
END $$;
