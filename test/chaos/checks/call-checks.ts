import type { Check } from './check-types.ts';

/** Checks of the requests that the service received, and of the ledger's rejects. */
export const callChecks: readonly Check[] = [
  {
    id: 'calls.signed',
    promise: 'every request that reached the service carries its key and a good signature',
    sql: 'select received, bad_signatures from oracle.calls where bad_signatures > 0',
  },
  {
    id: 'calls.nonces',
    promise: 'no nonce is used twice, and each is a time in milliseconds',
    sql: 'select reused_nonces, bad_nonces from oracle.calls where reused_nonces + bad_nonces > 0',
  },
  {
    id: 'calls.budget',
    promise: 'all processes together keep to WALLET_MAX_RPS in every window of 10 s',
    sql: `select max_in_10s, max_rps from oracle.calls, oracle.settings
           where max_rps is not null and max_in_10s > greatest(1, 10 * max_rps)`,
  },
  {
    id: 'rejects.payload',
    promise: 'every reject says where it came from, why, and what came',
    sql: `select id, source, order_no, field, reason from ledger.rejects
           where btrim(payload) = '' or btrim(reason) = '' or btrim(source) = ''`,
  },
];
