-- A cure names the command that shows the cause: unreadable values show as differences, too. An address list without a
-- total never proves itself, so waiting for its next reading is no cure.
DO $migration$
DECLARE
  definition text := pg_get_functiondef('engine.problems_of(text)'::regprocedure);
  change text[];
BEGIN
  FOREACH change SLICE 1 IN ARRAY ARRAY[
    ['''run `wallet-ledger verify`; ledger.reconciliation has the sums''',
     '''run `wallet-ledger verify`; ledger.reconciliation has the sums, and `wallet-ledger rejects` lists amounts that could not be read'''],
    ['''`wallet-ledger verify` compares row by row; ask the operator of the service about its total''',
     '''`wallet-ledger verify` compares row by row, and `wallet-ledger rejects` lists rows that cannot be stored; if both find nothing, ask the operator of the service about its total'''],
    ['''correct the books that counted them; if it happens often, remove the state from WALLET_FINAL_STATES''',
     '''`select order_no, old_value, observed_at from ledger.transaction_changes where field = ''''state'''' and lower(btrim(old_value)) in (select state from ledger.final_states)` names them; correct the books that counted them; if it happens often, remove the state from WALLET_FINAL_STATES'''],
    ['''check rights and limits at the service, and POOL_MAX_PER_DAY; if it asks for the chain, run `wallet-ledger doctor` and set WALLET_PARAM_NAMES; then run `wallet-ledger pool refill {subject}`''',
     '''run `wallet-ledger pool refill {subject}`, as a running daemon does by itself; if that fails, check rights and limits at the service, and POOL_MAX_PER_DAY; if it asks for the chain, run `wallet-ledger doctor` and set WALLET_PARAM_NAMES'''],
    -- A total below the rows stored is no measure of the first reading.
    [''' of '' || to_char(u.service_total, ''FM999,999,999,999''))',
     'CASE WHEN u.service_total >= u.ledger_count THEN '' of '' || to_char(u.service_total, ''FM999,999,999,999'') END)'],
    ['CASE WHEN u.is_known_difference THEN NOT u.is_address_list ELSE NOT u.was_proven END',
     'CASE WHEN u.is_known_difference THEN NOT u.is_address_list OR u.service_total IS NULL ELSE NOT u.was_proven END']
  ] LOOP
    ASSERT strpos(definition, change[1]) > 0, change[1];
    definition := replace(definition, change[1], change[2]);
  END LOOP;
  EXECUTE definition;
END $migration$;
