-- A service that expects the chain under another name refuses every request: the cure names what finds and sets it.
DO $migration$
DECLARE
  definition text := pg_get_functiondef('engine.problems_of(text)'::regprocedure);
  advice CONSTANT text := 'check rights and limits at the service, and POOL_MAX_PER_DAY; ';
  further CONSTANT text := 'if it asks for the chain, run `wallet-ledger doctor` and set WALLET_PARAM_NAMES; ';
BEGIN
  ASSERT strpos(definition, advice) > 0 AND strpos(definition, further) = 0, advice;
  EXECUTE replace(definition, advice, advice || further);
END $migration$;
