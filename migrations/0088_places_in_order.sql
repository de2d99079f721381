-- Where the database lives is asked once a second and by the first call of each session; it read all available addresses.
CREATE INDEX "addresses_place" ON "ledger"."addresses" USING btree ("place") WHERE "ledger"."addresses"."status" = 'available';
--> statement-breakpoint
CREATE OR REPLACE FUNCTION engine.has_strange_places() RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
SELECT (SELECT a.place FROM ledger.addresses a
         WHERE a.status = 'available' AND a.place < h.place ORDER BY a.place DESC LIMIT 1) IS NOT NULL
    OR (SELECT a.place FROM ledger.addresses a
         WHERE a.status = 'available' AND a.place > h.place ORDER BY a.place LIMIT 1) IS NOT NULL
  FROM engine.home h WHERE h.id = 1
$$;
