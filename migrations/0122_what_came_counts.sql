-- A service that grants fewer addresses than were requested used up POOL_MAX_PER_DAY with what it never made. A complete
-- answer counts what it brought. What the list shows since counts up to the number that was requested: such a service
-- may make more than it says.
DO $migration$
DECLARE
  definition text := pg_get_viewdef('ledger.pool_levels'::regclass);
  counted CONSTANT text := 'sum(GREATEST(r.num, r.received, r.generated))';
  fewer CONSTANT text := '(r.state = ''done'' AND r.lost_at IS NULL AND r.generated BETWEEN 1 AND r.num - 1)';
BEGIN
  ASSERT strpos(definition, counted) > 0, counted;
  EXECUTE 'CREATE OR REPLACE VIEW ledger.pool_levels AS ' || replace(definition, counted, format($sql$
    sum(CASE WHEN %1$s THEN r.generated ELSE GREATEST(r.num, r.received, r.generated) END)
    + CASE WHEN bool_or(%1$s) THEN least(
        sum(r.num - r.generated) FILTER (WHERE %1$s),
        (SELECT count(*) FROM ledger.addresses a
          WHERE a.wallet = c.wallet AND a.slip44 = c.slip44 AND a.generated_by IS NULL
            AND a.after_request >= min(r.id) FILTER (WHERE %1$s))) ELSE 0 END$sql$, fewer));
END $migration$;
--> statement-breakpoint
-- Replacing a view takes its barrier away.
SELECT engine.settle_barriers();
--> statement-breakpoint
SELECT engine.settle_rights();
--> statement-breakpoint
COMMENT ON COLUMN ledger.pool_levels.generated_24h IS 'Addresses that requests of the last 24 hours returned or may have generated. A complete answer counts what it returned and, up to the number that was requested, what the address list has shown since; a request that is open, was lost or returned nothing counts as requested. POOL_MAX_PER_DAY limits this number';
--> statement-breakpoint
COMMENT ON COLUMN ledger.address_requests.generated IS 'Number of addresses that appeared with this request, those that did not join the pool included: the new ones of its answer and its unreadable entries or, if it was lost, those that the address list has shown since. POOL_MAX_PER_DAY counts it. null: no answer, or a request from before this was recorded';
