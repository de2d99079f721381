-- One text may be an address of several chains. A row of another chain that only the list brought is either the same
-- account, where the service shows each account on all of these chains, or an address that somebody else had made there.
CREATE FUNCTION engine.are_apart(wallet text, slip44 integer, other integer) RETURNS boolean
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $function$
WITH list AS (
  SELECT CASE WHEN s.is_backed THEN s.last_success_at END AS read_at
    FROM ledger.streams s WHERE s.wallet = are_apart.wallet AND s.name = 'addresses:' || are_apart.other
),
own AS (
  (SELECT a.address_key, a.first_seen_at, a.generated_by FROM ledger.addresses a
    WHERE a.wallet = are_apart.wallet AND a.slip44 = are_apart.slip44 AND a.status = 'available'
    ORDER BY a.first_seen_at DESC, a.address DESC LIMIT 50)
  UNION ALL
  (SELECT a.address_key, a.first_seen_at, a.generated_by FROM ledger.addresses a
    WHERE a.wallet = are_apart.wallet AND a.slip44 = are_apart.slip44 AND a.assigned_at IS NOT NULL
    ORDER BY a.assigned_at DESC LIMIT 50)
),
seen AS (
  SELECT bool_or(o.generated_by IS NOT NULL) AS is_generated_twice,
         bool_or(o.address_key IS NULL AND w.first_seen_at < l.read_at - interval '15 minutes') AS is_missing,
         bool_or(o.address_key IS NULL AND w.first_seen_at < l.read_at) AS is_missing_yet,
         bool_or(o.address_key IS NOT NULL AND w.first_seen_at < now() - interval '15 minutes') AS is_shown,
         bool_and(l.read_at IS NOT NULL) AS is_read
    FROM own w
    LEFT JOIN ledger.addresses o ON o.wallet = are_apart.wallet AND o.slip44 = are_apart.other AND o.address_key = w.address_key
    LEFT JOIN list l ON true
   WHERE w.generated_by IS NOT NULL
)
SELECT CASE WHEN is_generated_twice OR is_missing THEN true
            WHEN NOT coalesce(is_read, false) OR is_missing_yet AND NOT is_shown THEN NULL
            ELSE false END
  FROM seen
$function$;
--> statement-breakpoint
COMMENT ON FUNCTION engine.are_apart IS 'True: the other chain''s list does not show the accounts of this chain, so that an address of both was made twice. False: it shows them all. Null: not known yet. By the newest addresses that the ledger generated here';
--> statement-breakpoint
CREATE FUNCTION engine.set_shared_aside(wallet text) RETURNS integer
LANGUAGE sql
SET search_path = pg_catalog, pg_temp
AS $function$
WITH oldest AS (
  SELECT p.slip44, a.address_key
    FROM ledger.pools p CROSS JOIN LATERAL (
      SELECT a.address_key, a.generated_by FROM ledger.addresses a
       WHERE a.wallet = p.wallet AND a.slip44 = p.slip44 AND a.status = 'available'
       ORDER BY a.first_seen_at, a.address LIMIT 500) a
   WHERE p.wallet = set_shared_aside.wallet AND a.generated_by IS NOT NULL
),
found AS (
  SELECT w.slip44, w.address_key, o.slip44 AS other
    FROM oldest w JOIN ledger.addresses o ON o.wallet = set_shared_aside.wallet AND o.address_key = w.address_key
   WHERE o.slip44 <> w.slip44 AND o.status IN ('foreign', 'used') AND o.generated_by IS NULL AND o.assigned_at IS NULL
),
apart AS MATERIALIZED (
  SELECT d.slip44, d.other FROM (SELECT DISTINCT f.slip44, f.other FROM found f) d
   WHERE engine.are_apart(set_shared_aside.wallet, d.slip44, d.other)
),
shared AS (
  SELECT a.slip44, a.address_key FROM ledger.addresses a
   WHERE a.wallet = set_shared_aside.wallet AND a.status = 'available'
     AND (a.slip44, a.address_key) IN (SELECT f.slip44, f.address_key FROM found f JOIN apart p ON p.slip44 = f.slip44 AND p.other = f.other)
   ORDER BY a.address_key, a.slip44 FOR UPDATE SKIP LOCKED
),
aside AS (
  UPDATE ledger.addresses a SET status = 'foreign', generated_by = NULL
    FROM shared s
   WHERE a.wallet = set_shared_aside.wallet AND a.slip44 = s.slip44 AND a.address_key = s.address_key
  RETURNING 1
)
SELECT count(*)::integer FROM aside
$function$;
--> statement-breakpoint
COMMENT ON FUNCTION engine.set_shared_aside IS 'Sets addresses of the wallet''s pools aside that somebody else had made on another chain, oldest first, and returns their number';
--> statement-breakpoint
DO $migration$
DECLARE
  definition text := pg_get_functiondef('engine.hand_out(text, integer, text, boolean)'::regprocedure);
  change text[];
BEGIN
  FOREACH change SLICE 1 IN ARRAY ARRAY[
    ['  holder record;',
     E'  holder record;\n  is_ours boolean;'],
    ['        IF holder.rows = holder.own THEN
',
     '        IF holder.rows = 0 THEN
          -- Somebody else may have made the address on another chain.
          SELECT CASE WHEN bool_or(o.apart) THEN false WHEN bool_or(o.apart IS NULL) THEN NULL ELSE true END INTO is_ours
            FROM (SELECT engine.are_apart(s.wallet, hand_out.slip44, s.slip44) AS apart FROM ledger.addresses s
                   WHERE s.wallet = hand_out.wallet AND s.address_key = key AND s.slip44 <> hand_out.slip44
                     AND s.status IN (''foreign'', ''used'') AND s.generated_by IS NULL AND s.assigned_at IS NULL
                     AND EXISTS (SELECT FROM ledger.addresses t WHERE t.wallet = hand_out.wallet AND t.slip44 = hand_out.slip44
                                                                  AND t.address_key = key AND t.generated_by IS NOT NULL)) o
          HAVING count(*) > 0;
          IF FOUND AND is_ours IS DISTINCT FROM true THEN
            RAISE EXCEPTION USING ERRCODE = ''lock_not_available'', MESSAGE = ''the address may be somebody else''''s on another chain'';
          END IF;
        END IF;
        IF holder.rows = holder.own THEN
'],
    ['        passed_over := passed_over || key;
',
     '        passed_over := passed_over || key;
        IF is_ours IS NOT DISTINCT FROM false THEN
          PERFORM engine.set_shared_aside(hand_out.wallet);
          is_ours := NULL;
        END IF;
']
  ] LOOP
    ASSERT strpos(definition, change[1]) > 0, change[1];
    definition := replace(definition, change[1], change[2]);
  END LOOP;
  EXECUTE definition;
END $migration$;
