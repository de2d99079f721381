-- An order that came back to its first final state has undone nothing. The last time at which it left a final state
-- says for how long it has been open.
DO $migration$
DECLARE
  definition text := pg_get_functiondef('engine.problems_of(text)'::regprocedure);
  change text[];
BEGIN
  FOREACH change SLICE 1 IN ARRAY ARRAY[
    ['SELECT ''final_state_undone'', NULL, min(c.observed_at),
           format(''%s %s changed after reaching a final state'', count(DISTINCT c.order_no),
                  CASE WHEN count(DISTINCT c.order_no) = 1 THEN ''transaction'' ELSE ''transactions'' END)
      FROM own.transaction_changes c
      JOIN own.final_states f ON f.state = lower(btrim(c.old_value))
',
     'SELECT ''final_state_undone'', NULL, min(c.first_at),
           format(''%s %s changed after reaching a final state'', count(*),
                  CASE WHEN count(*) = 1 THEN ''transaction'' ELSE ''transactions'' END)
      FROM (
        SELECT l.order_no, (array_agg(f.is_success ORDER BY l.id))[1] AS was_success,
               min(l.observed_at) AS first_at, max(l.observed_at) AS last_at
          FROM own.transaction_changes l
          JOIN own.final_states f ON f.state = lower(btrim(l.old_value))
         WHERE (SELECT sum(s.final_changes) > 0 FROM own.streams s) AND l.field = ''state''
           AND l.observed_at > now() - interval ''7 days''
         GROUP BY l.order_no) AS c
'],
    ['     WHERE (SELECT sum(s.final_changes) > 0 FROM own.streams s) AND c.field = ''state''
       AND c.observed_at > now() - interval ''7 days'' AND n.is_success IS DISTINCT FROM f.is_success
',
     '     WHERE n.is_success IS DISTINCT FROM c.was_success
'],
    ['AND (n.state IS NOT NULL OR c.observed_at < now() - interval ''1 minute'')',
     'AND (n.state IS NOT NULL OR c.last_at < now() - interval ''1 minute'')'],
    ['''`select order_no, old_value, observed_at from ledger.transaction_changes where field = ''''state'''' and lower(btrim(old_value)) in (select state from ledger.final_states)` names them;',
     '''`select c.order_no, c.old_value, t.state, c.observed_at from ledger.transaction_changes c join ledger.transactions t using (wallet, order_no) where c.field = ''''state'''' and lower(btrim(c.old_value)) in (select state from ledger.final_states) order by c.id` names them, with their state now;'],
    ['check that `wallet-ledger start` runs; its log says why it ended',
     'check that `wallet-ledger start` runs; its log says why it ended. If it runs, `wallet-ledger status` shows its queue, which may be paused']
  ] LOOP
    ASSERT strpos(definition, change[1]) > 0, change[1];
    definition := replace(definition, change[1], change[2]);
  END LOOP;
  EXECUTE definition;
END $migration$;
--> statement-breakpoint
-- Many functions take a wallet first; the hint named one that was not called.
DO $migration$
DECLARE
  definition text := pg_get_functiondef('ledger.only_wallet()'::regprocedure);
  named text := 'first argument, as in ledger.balances_at(%L, …)';
BEGIN
  ASSERT strpos(definition, named) > 0, named;
  EXECUTE replace(definition, named, 'first argument: %L, …');
END $migration$;
