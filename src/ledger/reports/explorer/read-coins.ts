import { type SQL, sql } from 'drizzle-orm';
import { alias } from 'drizzle-orm/pg-core';
import type { LedgerDb } from '../../connection/connect-ledger.ts';
import {
  number,
  orNull,
  out,
  pick,
  query,
  type RowNamedBy,
  text,
  truth,
} from '../../connection/query-rows.ts';
import { coins, reconciliationRuns } from '../../own-tables.ts';
import { amountText } from '../status-sql.ts';
import { type NamedChain, readChains } from './read-chains.ts';

/**
 * A coin over all its chains. `reported` is the sum of the balances, null if no balance was read. `difference` is
 * reported minus expected, as last compared; null before the first comparison.
 */
export type CoinRow = RowNamedBy<typeof coinColumns>;

/** An asset of a coin: its balance and what the service allows with it. */
export type AssetRow = RowNamedBy<typeof assetColumns>;

/** A found difference: of the coin over all chains, or of one chain if `slip44` is set. */
export type DifferenceRow = RowNamedBy<typeof differenceColumns>;

export type CoinPage = { rows: CoinRow[]; next: string | null };
export type CoinReport = { coin: CoinRow; assets: AssetRow[]; differences: DifferenceRow[] };

const pageRows = 100;
const assetsMax = 50;
const differencesMax = 50;
/** Number of the latest unlisted transactions among which a coin is looked for, so that any history costs the same. */
const unlistedMax = 10_000;

/** The coins of listed transactions and of their fees, from the running totals. */
const coinsOfTransactions = sql`
  select s.symbol from own.totals s union select s.fee_symbol from own.totals s`;
const coinsOfLists = sql`
  select symbol from own.balances union select symbol from own.coins union ${coinsOfTransactions}`;

const d = alias(reconciliationRuns, 'd');
const coinColumns = pick({
  symbol: [sql`c.symbol`, text],
  chains: [sql`c.chains`, number],
  reported: [amountText('c.reported'), orNull(text)],
  expected: [amountText('(coalesce(c.reported, 0) - d.difference)'), orNull(text)],
  difference: [amountText('d.difference'), orNull(text)],
  isExplained: [sql`d.is_explained`, orNull(truth)],
  explanation: [sql`left(d.explanation, 2000)`, orNull(text)],
});

const differenceColumns = pick({
  slip44: d.slip44,
  observedAt: [sql`d.observed_at::text`, text],
  expected: [amountText('d.expected'), orNull(text)],
  reported: [amountText('d.reported'), orNull(text)],
  difference: [amountText('d.difference'), orNull(text)],
  isExplained: d.isExplained,
  explanation: [sql`left(d.explanation, 2000)`, orNull(text)],
});

const assetColumns = pick({
  slip44: [sql`k.slip44`, number],
  contractAddress: [sql`k.contract_address`, text],
  chainName: [sql`coalesce(b.chain_name, b.chain_symbol)`, orNull(text)],
  name: [sql`coalesce(b.name, c.name)`, orNull(text)],
  balance: [amountText('b.balance'), orNull(text)],
  frozen: [amountText('b.frozen'), orNull(text)],
  decimals: [sql`coalesce(b.decimals, c.decimals)`, orNull(number)],
  isListed: [sql`coalesce(b.is_listed, c.is_listed)`, truth],
  depositState: alias(coins, 'c').depositState,
  withdrawState: alias(coins, 'c').withdrawState,
  observedAt: [sql`b.observed_at::text`, orNull(text)],
  changedAt: [sql`b.changed_at::text`, orNull(text)],
  expected: [amountText('(b.balance - d.difference)'), orNull(text)],
  difference: [amountText('d.difference'), orNull(text)],
  isExplained: [sql`d.is_explained`, orNull(truth)],
  explanation: [sql`left(d.explanation, 2000)`, orNull(text)],
});

/** Reads one page of the coins by symbol: those of the balances, of the coin list and of the listed transactions. */
export async function listCoins(db: LedgerDb, after: string | null): Promise<CoinPage> {
  const rows = await selectCoins(
    db,
    sql`k.symbol collate "C" > ${after ?? ''}::text`,
    pageRows + 1,
  );
  const next = rows.length > pageRows ? (rows[pageRows - 1]?.symbol ?? null) : null;
  return { rows: rows.slice(0, pageRows), next };
}

/**
 * Reads a coin, its assets and its latest 50 differences, or null if neither a list nor a transaction names it. An
 * asset that is alone under its symbol is compared as the coin.
 */
export async function readCoin(db: LedgerDb, symbol: string): Promise<CoinReport | null> {
  const condition = sql`k.symbol = ${symbol}::text`;
  const [coin] = await selectCoins(db, condition, 1);
  if (!coin && !(await isOfUnlisted(db, symbol))) return null;
  const assets = await query(db)`
    select ${assetColumns}
      from (select u.*, count(*) over () = 1 as is_alone
              from (select slip44, symbol, contract_address from own.balances where symbol = ${symbol}::text
                    union select slip44, symbol, contract_address from own.coins where symbol = ${symbol}::text) as u) as k
      left join own.balances b using (slip44, symbol, contract_address)
      left join own.coins c using (slip44, symbol, contract_address)
      left join lateral (
        select * from own.reconciliation_runs r
         where r.symbol = k.symbol and coalesce(r.slip44, -1) = case when k.is_alone then -1 else k.slip44 end
           and coalesce(r.contract_address, '') = case when k.is_alone then '' else k.contract_address end
         order by r.id desc limit 1) as d on true
     order by k.slip44, k.contract_address limit ${assetsMax}`;
  const differences = await query(db)`
    select ${differenceColumns} from own.reconciliation_runs d
     where d.symbol = ${symbol}::text and coalesce(d.slip44, -1) = -1 and coalesce(d.contract_address, '') = ''
     order by d.id desc limit ${differencesMax}`;
  return { coin: coin ?? unlistedCoin(symbol), assets, differences };
}

/** Returns true if a list or a transaction names a coin of exactly this spelling. */
export async function isCoin(db: LedgerDb, symbol: string): Promise<boolean> {
  const rows = await query(db)`
    select k.symbol as ${out('symbol', text)} from (${coinsOfLists}) as k
     where k.symbol = ${symbol}::text limit 1`;
  return rows.length > 0 || (await isOfUnlisted(db, symbol));
}

/** Returns true if one of the latest unlisted transactions is of this coin. The running totals have none of these. */
async function isOfUnlisted(db: LedgerDb, symbol: string): Promise<boolean> {
  const rows = await query(db)`
    select u.symbol as ${out('symbol', text)}
      from (select t.symbol from own.transactions t where not t.is_listed
             order by t.stream desc, t.occurred_at desc limit ${unlistedMax}) as u
     where u.symbol = ${symbol}::text limit 1`;
  return rows.length > 0;
}

function unlistedCoin(symbol: string): CoinRow {
  const unknown = { reported: null, expected: null, difference: null };
  return { symbol, chains: 0, ...unknown, isExplained: null, explanation: null };
}

async function selectCoins(db: LedgerDb, condition: SQL, rowsMax: number): Promise<CoinRow[]> {
  return await query(db)`
    with c as (
      select k.symbol, count(distinct k.slip44)::integer as chains, sum(k.balance) as reported
        from (select symbol, slip44, case when is_listed then balance end as balance from own.balances
              union all
              select n.symbol, n.slip44, null from own.coins n
               where not exists (select from own.balances e where (e.slip44, e.symbol, e.contract_address)
                                                                   = (n.slip44, n.symbol, n.contract_address))
              union all
              select o.symbol, null, null from (${coinsOfTransactions}) as o) as k
       where ${condition}
       group by k.symbol order by k.symbol collate "C" limit ${rowsMax}
    )
    select ${coinColumns} from c
      left join lateral (
        select * from own.reconciliation_runs r
         where r.symbol = c.symbol and coalesce(r.slip44, -1) = -1 and coalesce(r.contract_address, '') = ''
         order by r.id desc limit 1) as d on true
     order by c.symbol collate "C"`;
}

/**
 * The coins, the chains with their names, and the states, those of the settings and of the newest open transactions:
 * what a filter offers. At most 500 each.
 */
export type Choices = { coins: string[]; chains: NamedChain[]; states: string[] };

const choicesMax = 500;
const openMax = 1_000;

export async function readChoices(db: LedgerDb): Promise<Choices> {
  const named = await query(db)`
    select distinct k.symbol as ${out('symbol', text)}
      from (${coinsOfLists}) as k
     where k.symbol is not null order by 1 limit ${choicesMax}`;
  const states = await query(db)`
    select state as ${out('state', text)} from own.final_states
     union
    select o.state from (select lower(btrim(t.state)) as state from own.transactions t where not t.is_final
                          order by t.occurred_at desc limit ${openMax}) as o
     where o.state <> '' order by 1 limit ${choicesMax}`;
  return {
    coins: named.map(({ symbol }) => symbol),
    chains: await readChains(db),
    states: states.map(({ state }) => state),
  };
}
