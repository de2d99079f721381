import { type SQL, sql } from 'drizzle-orm';

/**
 * CTE with one row about the assets that the wallet's coins and balances have or had. `of_symbol` gives the only chain
 * of a symbol, `of_main_coin` the only chain with a symbol as its main coin, and `contracts` the contract of
 * `chain/symbol` (null where several assets have both). They are objects, because a plan that joins relations may
 * compare each row with each asset.
 */
export const knownChains = sql`known_assets as materialized (
  select slip44, symbol, contract_address from own.balances union select slip44, symbol, contract_address from own.coins
),
known_chains as materialized (
  select (select jsonb_object_agg(s.symbol, s.slip44)
            from (select symbol, min(slip44) as slip44 from known_assets
                   group by symbol having min(slip44) = max(slip44)) as s) as of_symbol,
         (select jsonb_object_agg(s.symbol, s.slip44)
            from (select symbol, min(slip44) as slip44 from known_assets where contract_address = ''
                   group by symbol having min(slip44) = max(slip44)) as s) as of_main_coin,
         (select jsonb_object_agg(s.slip44 || '/' || s.symbol, s.contract)
            from (select slip44, symbol, case when count(*) = 1 then min(contract_address) end as contract
                    from known_assets group by slip44, symbol) as s) as contracts
)`;

type RowColumns = { stream: string; symbol: string; toAddress: string; feeSymbol?: string };

/**
 * Returns the chain of a row, or null if nothing shows it. It is the only chain of the row's coin, otherwise that of a
 * deposit's address, otherwise the one whose main coin paid the fee. The statement needs the CTEs `knownChains`.
 */
export function chainOfRow({ stream, symbol, toAddress, feeSymbol }: RowColumns): SQL {
  const ofFee = `(select of_main_coin from known_chains) ->> ${feeSymbol}`;
  return sql.raw(`coalesce(
           ((select of_symbol from known_chains) ->> ${symbol})::integer,
           case when ${stream} = 'deposit' and (select exists (select from own.addresses))
             then (select min(a.slip44) from own.addresses a where a.address_key = ledger.address_key(${toAddress})
                   having min(a.slip44) = max(a.slip44)) end${
                     feeSymbol
                       ? `,
           case when (select contracts from known_chains) ? (${ofFee} || '/' || ${symbol}) then (${ofFee})::integer end`
                       : ''
                   })`);
}

/** Returns the contract of the symbol on the chain; null if it is not known. */
export function contractOfRow(slip44: string, symbol: string): SQL {
  return sql.raw(`(select contracts from known_chains) ->> (${slip44} || '/' || ${symbol})`);
}

/**
 * CTE `rechained`: the rows of `stored` (columns x and new_x) that have no chain, or whose symbol changes, with their
 * new chain. Computed in a separate CTE, because a plan that joins the two relations may compare each row with each.
 * Needs the CTEs `knownChains`.
 */
export const rechained = sql`rechained as (
  select s.*, case when s.is_rechained then ${contractOfRow('s.new_slip44', 's.new_symbol')} end as new_contract_address
    from (select r.*, case when r.is_rechained then ${chainOfRow({ stream: 'r.stream', symbol: 'r.new_symbol', toAddress: 'r.new_to_address', feeSymbol: 'r.new_fee_symbol' })} end as new_slip44
            from (select stored.*, slip44 is null or new_symbol is distinct from symbol as is_rechained from stored) as r
          offset 0) as s
)`;

/** Assignments of an update of `t` from `rechained` as `s`. */
export const keptOrRechained = sql`slip44 = case when s.is_rechained then s.new_slip44 else t.slip44 end,
         contract_address = case when s.is_rechained then s.new_contract_address else t.contract_address end`;
