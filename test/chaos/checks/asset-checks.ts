import { plainSymbols } from '../oracle/plain-coin.ts';
import type { Check } from './check-types.ts';

const numbered = `
  select b.*, row_number() over w as n,
         lead(b.id) over w is null as is_last,
         (b.balance, b.frozen) is not distinct from (lag(b.balance) over w, lag(b.frozen) over w)
           and lag(b.id) over w is not null as is_repeated
    from ledger.balance_changes b
  window w as (partition by slip44, symbol, contract_address order by id)`;

const versionAfter = (change: string, after: string) => `
  (select min(v.version) from oracle.balance_versions v
    where (v.slip44, v.symbol, v.contract_address) = (${change}.slip44, ${change}.symbol, ${change}.contract_address)
      and v.balance::numeric = ${change}.balance and v.frozen::numeric = ${change}.frozen
      and v.version > ${after})`;

/** Compares balances and coins with the truth and its versions. */
export const assetChecks: readonly Check[] = [
  {
    id: 'balances.exact',
    promise: 'the listed balances are those of the service, digit for digit',
    sql: `select slip44, symbol, contract_address, o.balance as truth, t.balance, o.frozen as frozen_truth, t.frozen
            from oracle.balances o
            full join (select * from ledger.balances where is_listed) t using (slip44, symbol, contract_address)
           where (o.balance::numeric::text, o.frozen::numeric::text, o.name, o.decimals, 'Chain ' || slip44)
                 is distinct from (t.balance::text, t.frozen::text, t.name, t.decimals, t.chain_name)`,
  },
  {
    id: 'balances.monotonic',
    promise: 'the changes of a balance follow the versions that it had, in their order',
    sql: `with recursive numbered as (${numbered}),
          walked as (
            select c.n, c.slip44, c.symbol, c.contract_address, c.balance, c.frozen, ${versionAfter('c', '-1')} as version
              from numbered c where c.n = 1
            union all
            select c.n, c.slip44, c.symbol, c.contract_address, c.balance, c.frozen, ${versionAfter('c', 'w.version')}
              from walked w
              join numbered c on c.slip44 = w.slip44 and c.symbol = w.symbol
                             and c.contract_address = w.contract_address and c.n = w.n + 1
             where w.version is not null and not c.is_repeated
          )
          select slip44, symbol, contract_address, n, balance, frozen from walked w
           where version is null
             and not exists (select from oracle.balance_versions v join oracle.moments m on m.id = v.moment
                              where v.slip44 = w.slip44 and v.symbol = w.symbol
                                and v.contract_address = w.contract_address and m.is_spanned)`,
  },
  {
    id: 'balances.doubled',
    promise: 'no balance is logged twice in a row with the same amounts',
    sql: `with numbered as (${numbered})
          select id, slip44, symbol, contract_address, balance, frozen from numbered where is_repeated`,
  },
  {
    id: 'balances.logged',
    promise:
      'the last change of a balance is its present value, and no balance is without a change',
    sql: `with numbered as (${numbered})
          select slip44, symbol, contract_address, b.balance, n.balance as logged, b.frozen, n.frozen as frozen_logged
            from ledger.balances b
            left join numbered n using (slip44, symbol, contract_address)
           where coalesce(n.is_last, true)
             and (n.id is null or (n.balance, n.frozen) is distinct from (b.balance, b.frozen))`,
  },
  {
    id: 'balances.explained',
    promise: 'nothing is left to explain about balances that are the sums of their transactions',
    sql: `select r.symbol, r.expected, r.reported, r.difference, r.explanation, u.since as unexplained_since
            from (select distinct symbol from oracle.balances
                   where symbol in (${plainSymbols.map((symbol) => `'${symbol}'`).join(', ')})) as v
            left join ledger.reconciliation r using (symbol)
            left join ledger.unexplained_differences u using (symbol)
           where r.difference is distinct from 0 or not r.is_explained or u.symbol is not null`,
  },
  {
    id: 'coins.exact',
    promise: 'the listed coins are those of the service',
    sql: `select slip44, symbol, contract_address, to_jsonb(o) as truth, to_jsonb(t) as stored
            from oracle.coins o
            full join (select * from ledger.coins where is_listed) t using (slip44, symbol, contract_address)
           where (o.name, o.decimals, o.deposit_state, o.withdraw_state)
                 is distinct from (t.name, t.decimals, t.deposit_state, t.withdraw_state)`,
  },
];
