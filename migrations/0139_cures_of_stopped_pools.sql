-- Nothing retries the filling of a pool after an answer with too many addresses, or with a text that is none: its cure
-- says what ends the stop.
DO $migration$
DECLARE
  definition text := pg_get_functiondef('engine.problems_of(text)'::regprocedure);
  piece text := $sql$SELECT p.slip44, p.threshold, p.target, p.last_error, p.last_error_at, a.available,$sql$;
BEGIN
  ASSERT strpos(definition, piece) > 0, piece;
  definition := replace(definition, piece, piece || $sql$
           -- As isExcess of src/ledger/addresses/pool-store.ts.
           p.next_try_at IS NOT NULL AND EXISTS (
             SELECT FROM (SELECT l.* FROM own.address_requests l WHERE l.slip44 = p.slip44 ORDER BY l.id DESC LIMIT 1) AS l
              WHERE l.state = 'done' AND l.lost_at IS NULL AND l.received = 0 AND l.generated > l.num) AS is_excess,
           p.refused_at IS NOT NULL AS is_refused,$sql$);
  piece := $sql$substring(p.last_error, $sql$;
  ASSERT strpos(definition, piece) > 0, piece;
  -- The rest of the reason is the cure.
  definition := replace(definition, piece,
    $sql$substring(CASE WHEN p.is_excess THEN split_part(p.last_error, '. ', 1) ELSE p.last_error END, $sql$);
  piece := $sql$replace(k.cure, '{subject}'$sql$;
  ASSERT strpos(definition, piece) > 0, piece;
  EXECUTE replace(definition, piece, $sql$replace(coalesce(
           (SELECT CASE WHEN p.is_refused THEN (SELECT r.cure FROM kinds r WHERE r.name = 'address_refused')
                        WHEN p.is_excess THEN 'nothing more is requested until `wallet-ledger pool refill {subject}`: if nobody else generates addresses with this key, set POOL_EXCLUSIVE=true before; `wallet-ledger pool adopt {subject}` shows the addresses that came' END
              FROM pools p WHERE f.name IN ('pool_empty', 'pool_not_filled') AND p.slip44::text = f.subject), k.cure), '{subject}'$sql$);
END $migration$;
--> statement-breakpoint
SELECT engine.settle_rights();
