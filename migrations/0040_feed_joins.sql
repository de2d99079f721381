-- A session plans the join of old and new rows once, for as many rows as its first statement changed. After one that
-- changed a single row it would compare every old row with every new one.
ALTER FUNCTION engine.emit_changed_transactions() SET enable_nestloop = off;
