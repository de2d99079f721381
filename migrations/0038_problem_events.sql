CREATE TABLE "engine"."raised_problems" (
	"name" text NOT NULL,
	"severity" text NOT NULL,
	"since" timestamp with time zone,
	"what" text NOT NULL,
	"cure" text NOT NULL,
	CONSTRAINT "raised_problems_name_severity_pk" PRIMARY KEY("name","severity")
);

--> statement-breakpoint
-- One event for each kind and severity: what a problem says of itself changes while it stands.
CREATE FUNCTION engine.note_problems() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NOT pg_try_advisory_xact_lock(7246007) THEN RETURN; END IF;
  WITH standing AS MATERIALIZED (
    SELECT DISTINCT ON (p.name, p.severity) p.name, p.severity, p.since, p.what, p.cure
      FROM ledger.problems p ORDER BY p.name, p.severity, p.since),
  cleared AS (
    DELETE FROM engine.raised_problems r
     WHERE NOT EXISTS (SELECT FROM standing s WHERE s.name = r.name AND s.severity = r.severity)
    RETURNING r.name, r.severity, r.since, r.what, r.cure),
  raised AS (
    INSERT INTO engine.raised_problems AS r (name, severity, since, what, cure)
    SELECT s.* FROM standing s
     WHERE NOT EXISTS (SELECT FROM engine.raised_problems o WHERE o.name = s.name AND o.severity = s.severity)
    RETURNING r.name, r.severity, r.since, r.what, r.cure)
  INSERT INTO engine.outbox (kind, key, data)
  SELECT 'problem.cleared', c.name, to_jsonb(c) FROM cleared c
  UNION ALL
  SELECT 'problem.raised', r.name, to_jsonb(r) FROM raised r;
  IF FOUND THEN PERFORM pg_notify('ledger_outbox', ''); END IF;
END $$;
--> statement-breakpoint
COMMENT ON TABLE engine.raised_problems IS 'Problems of ledger.problems that the change feed has reported and that have not ended';
COMMENT ON COLUMN engine.raised_problems.name IS 'As problems.name';
COMMENT ON COLUMN engine.raised_problems.severity IS 'As problems.severity';
COMMENT ON COLUMN engine.raised_problems.since IS 'As problems.since, when it was reported';
COMMENT ON COLUMN engine.raised_problems.what IS 'As problems.what, when it was reported';
COMMENT ON COLUMN engine.raised_problems.cure IS 'As problems.cure, when it was reported';
COMMENT ON FUNCTION engine.note_problems IS 'Writes the events problem.raised and problem.cleared for what ledger.problems shows now';
--> statement-breakpoint
SELECT engine.settle_rights();
