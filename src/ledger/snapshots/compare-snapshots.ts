import type { AssetKey } from '../../kernel/vocabulary.ts';
import type { BalanceRecord, CoinRecord } from '../../kernel/wallet-records.ts';
import type { LedgerDb } from '../connection/connect-ledger.ts';
import { listOf, out, query, text, truth } from '../connection/query-rows.ts';
import { unnestRows } from '../connection/unnest-rows.ts';
import { balances, coins } from '../own-tables.ts';
import { differenceOf, type RowDifference, type UnreadableFields } from '../row-difference.ts';
import { assetKey } from './store-snapshot.ts';

/**
 * Result of a comparison. Keys have the form slip44/symbol/contract. `moved`: rows whose amounts differ, and whose
 * transactions may have changed them since the ledger read them.
 */
export type SnapshotComparison = {
  missing: string[];
  different: RowDifference[];
  moved: RowDifference[];
  extra: string[];
  unreadable: UnreadableFields[];
};

/**
 * Compares the service's balances with the ledger's. A null of the service is no difference. The amounts of a coin may
 * have moved if it has a transaction that is not final or changed after the balance was written, and all amounts with
 * `isWalletMoving`; the next poll brings those amounts.
 */
export async function compareBalances(
  db: LedgerDb,
  records: BalanceRecord[],
  isWalletMoving: boolean,
): Promise<SnapshotComparison> {
  const found = await query(db)`
with incoming as (
  select * from ${unnestRows(records, balances, [...assetKey, 'balance', 'frozen', 'decimals'])}
)
select concat_ws('/', slip44, symbol, nullif(contract_address, '')) as ${out('key', text)},
       b.observation is not null as ${out('isKnown', truth)}, i.is_named is not null as ${out('isNamed', truth)},
       array_remove(array[
         case when i.decimals is distinct from b.decimals and i.decimals is not null then 'decimals' end,
         case when i.balance is distinct from b.balance and i.balance is not null then 'balance' end,
         case when i.frozen is distinct from b.frozen and i.frozen is not null then 'frozen' end
       ], null) as ${out('fields', listOf(text))},
       coalesce(is_moving, false) as ${out('isMoving', truth)},
       json_build_object('balance', b.balance::text, 'frozen', b.frozen::text,
                         'decimals', b.decimals::text)::text as ${out('ledger', text)},
       json_build_object('balance', i.balance::text, 'frozen', i.frozen::text,
                         'decimals', i.decimals::text)::text as ${out('service', text)}
  from (select *, true as is_named from incoming) i
  full join (select *, ${isWalletMoving} or exists (
                      select from own.transactions t
                       where o.symbol in (t.symbol, t.fee_symbol) and (not t.is_final or t.changed_at > o.changed_at)
                    ) as is_moving
               from own.balances o where is_listed) b using (slip44, symbol, contract_address)`;
  return comparisonOf(found, records);
}

/** Compares the service's coins with the ledger's. A null of the service is no difference. */
export async function compareCoins(
  db: LedgerDb,
  records: CoinRecord[],
): Promise<SnapshotComparison> {
  const found = await query(db)`
with incoming as (
  select * from ${unnestRows(records, coins, [...assetKey, 'name', 'decimals', 'depositState', 'withdrawState'])}
)
select concat_ws('/', slip44, symbol, nullif(contract_address, '')) as ${out('key', text)},
       c.observation is not null as ${out('isKnown', truth)}, i.is_named is not null as ${out('isNamed', truth)},
       false as ${out('isMoving', truth)},
       array_remove(array[
         case when i.name is distinct from c.name and i.name is not null then 'name' end,
         case when i.decimals is distinct from c.decimals and i.decimals is not null then 'decimals' end,
         case when i.deposit_state is distinct from c.deposit_state and i.deposit_state is not null then 'depositState' end,
         case when i.withdraw_state is distinct from c.withdraw_state and i.withdraw_state is not null then 'withdrawState' end
       ], null) as ${out('fields', listOf(text))},
       json_build_object('name', c.name, 'decimals', c.decimals::text, 'depositState', c.deposit_state,
                         'withdrawState', c.withdraw_state)::text as ${out('ledger', text)},
       json_build_object('name', i.name, 'decimals', i.decimals::text, 'depositState', i.deposit_state,
                         'withdrawState', i.withdraw_state)::text as ${out('service', text)}
  from (select *, true as is_named from incoming) i
  full join (select * from own.coins where is_listed) c using (slip44, symbol, contract_address)`;
  return comparisonOf(found, records);
}

type Row = {
  key: string;
  isKnown: boolean;
  isNamed: boolean;
  isMoving: boolean;
  fields: string[];
  ledger: string;
  service: string;
};

/** Fields that transactions change. */
const amounts = new Set(['balance', 'frozen']);

function comparisonOf(rows: Row[], records: (BalanceRecord | CoinRecord)[]): SnapshotComparison {
  const unreadableOf = new Map(
    records.map((record) => [keyOf(record), record.unreadable?.map(columnOf) ?? []]),
  );
  const known = rows.filter((row) => row.isKnown && row.isNamed);
  const differing = (ofMoving: boolean) =>
    known
      .map(({ key, isMoving, fields, ...row }) => ({
        ...row,
        orderNo: key,
        fields: fields.filter((field) => (isMoving && amounts.has(field)) === ofMoving),
      }))
      .filter(({ fields }) => fields.length > 0)
      .map(differenceOf);
  return {
    missing: rows.filter((row) => !row.isKnown).map(({ key }) => key),
    extra: rows.filter((row) => !row.isNamed).map(({ key }) => key),
    different: differing(false),
    moved: differing(true),
    unreadable: rows
      .map(({ key, ledger }) => {
        const held = JSON.parse(ledger) as Record<string, string | null>;
        const isHeld = (field: string) => (held[field] ?? null) !== null;
        return { orderNo: key, fields: (unreadableOf.get(key) ?? []).filter(isHeld) };
      })
      .filter(({ fields }) => fields.length > 0),
  };
}

function keyOf({ slip44, symbol, contractAddress }: AssetKey): string {
  return [slip44, symbol, ...(contractAddress === '' ? [] : [contractAddress])].join('/');
}

/** Returns the field's name in the ledger. */
function columnOf(field: string): string {
  return field === 'decimal' ? 'decimals' : field;
}
