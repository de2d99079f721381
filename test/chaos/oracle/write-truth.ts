import type pg from 'pg';
import type { AddressTruth } from './address-truth.ts';
import type { AssetTruth } from './asset-truth.ts';
import type { CallTotals } from './call-log.ts';
import { isFinalState } from './final-state.ts';
import type { Moments } from './moments.ts';
import { standingOf, type TransactionRow } from './transaction-row.ts';
import type { TransactionTruth } from './transaction-truth.ts';
import { fieldVersions, truthTables } from './truth-tables.ts';

export type Truth = {
  transactions: TransactionTruth;
  assets: AssetTruth;
  addresses: AddressTruth;
  moments: Moments;
  totals: CallTotals;
};

type Db = pg.Client | pg.Pool;
type Cell = string | number | boolean | null;

const batchRows = 5_000;

/** (Re)creates schema `oracle` and loads it. */
export async function writeTruth(db: Db, truth: Truth): Promise<void> {
  await db.query(truthTables);
  const { lists } = truth.transactions;
  const rows = lists.all.rows;
  await load(db, 'transactions', rows.map(transactionCells));
  await load(db, 'transaction_states', versionCells(rows));
  await load(
    db,
    'odd_rows',
    rows.flatMap(({ orderNo, odd }) =>
      odd ? [{ order_no: orderNo, kind: odd.kind, field: odd.field, stored: odd.stored }] : [],
    ),
  );
  await load(
    db,
    'moments',
    truth.moments.all.map(({ id, at, isSpanned }) => ({ id, at_ms: at, is_spanned: isSpanned })),
  );
  await loadAssets(db, truth.assets);
  await loadAddresses(db, truth.addresses);
  const { received, accepted, badSignatures, reusedNonces, badNonces, maxIn10s } = truth.totals;
  await load(db, 'calls', [
    {
      received,
      accepted,
      bad_signatures: badSignatures,
      reused_nonces: reusedNonces,
      bad_nonces: badNonces,
      max_in_10s: maxIn10s,
    },
  ]);
  await db.query(fieldVersions);
  await db.query('analyze');
}

/** Rows with the same columns; every column is sent as text and cast by the table's own type. */
async function load(db: Db, table: string, rows: readonly Record<string, Cell>[]): Promise<void> {
  const columns = Object.keys(rows[0] ?? {});
  for (let from = 0; from < rows.length; from += batchRows) {
    const batch = rows.slice(from, from + batchRows);
    const records = JSON.stringify(batch);
    await db.query(
      `insert into oracle.${table} (${columns.join(', ')})
       select ${columns.join(', ')} from json_populate_recordset(null::oracle.${table}, $1)`,
      [records],
    );
  }
}

const orNull = (text: string) => (text === '' ? null : text);

function transactionCells(row: TransactionRow): Record<string, Cell> {
  const cells: Record<string, Cell> = {
    order_no: row.orderNo,
    stream: row.stream,
    request_id: orNull(row.requestId),
    symbol: row.symbol,
    tx_hash: orNull(row.txHash),
    from_address: orNull(row.fromAddress),
    to_address: row.toAddress,
    amount: row.amount,
    state: row.state,
    confirm_num: row.confirmNum,
    fee: orNull(row.fee),
    fee_symbol: orNull(row.feeSymbol),
    time_ms: row.timeMs,
    is_final: isFinalState(row.state),
    extra: row.extra === '' ? null : `{${row.extra}}`,
    is_odd: row.odd !== null,
  };
  if (row.odd) cells[columnOf[row.odd.field] ?? ''] = row.odd.stored;
  return cells;
}

const columnOf: Record<string, string> = {
  requestId: 'request_id',
  symbol: 'symbol',
  txHash: 'tx_hash',
  fromAddress: 'from_address',
  toAddress: 'to_address',
  amount: 'amount',
  time: 'time_ms',
  confirmNum: 'confirm_num',
  fee: 'fee',
};

function versionCells(rows: readonly TransactionRow[]): Record<string, Cell>[] {
  return rows.flatMap((row) => {
    const versions = row.versions ?? [{ ...standingOf(row), moment: null, at: 0 }];
    if (row.odd) return [];
    return versions.map((version, index) => ({
      order_no: row.orderNo,
      version: index,
      moment: version.moment,
      at_ms: version.at,
      state: version.state,
      confirm_num: version.confirmNum,
      amount: version.amount,
      tx_hash: orNull(version.txHash),
      to_address: version.toAddress,
      fee: orNull(version.fee),
      fee_symbol: orNull(version.feeSymbol),
    }));
  });
}

async function loadAssets(db: Db, { coins, balances }: AssetTruth): Promise<void> {
  await load(
    db,
    'coins',
    coins.map((coin) => ({
      slip44: coin.slip44,
      symbol: coin.symbol,
      contract_address: coin.contractAddress,
      name: coin.name,
      decimals: coin.decimals,
      deposit_state: coin.depositState,
      withdraw_state: coin.withdrawState,
    })),
  );
  const all = balances.flatMap(({ coin, versions }) =>
    versions.map(({ balance, frozen, moment, at }, index) => ({
      slip44: coin.slip44,
      symbol: coin.symbol,
      contract_address: coin.contractAddress,
      version: index,
      moment,
      at_ms: at,
      balance,
      frozen,
      is_last: index === versions.length - 1,
    })),
  );
  await load(db, 'balance_versions', all);
  await db.query(`insert into oracle.balances
    select slip44, symbol, contract_address, c.name, c.decimals, v.balance, v.frozen
      from oracle.balance_versions v join oracle.coins c using (slip44, symbol, contract_address)
     where v.is_last`);
}

async function loadAddresses(db: Db, { addresses, posts, reads }: AddressTruth): Promise<void> {
  await load(
    db,
    'addresses',
    [...addresses.values()].flat().map(({ slip44, address, serial, generatedAt }) => ({
      slip44,
      address,
      request_serial: serial,
      generated_at_ms: generatedAt,
    })),
  );
  await load(
    db,
    'address_posts',
    posts.map((post) => ({
      serial: post.serial,
      slip44: post.slip44,
      num: post.num,
      received_seq: post.receivedSeq,
      received_at_ms: post.receivedAt,
      finished_seq: post.finishedSeq,
      finished_at_ms: post.finishedAt,
      generated: post.generated,
      is_answer_lost: post.isAnswerLost,
    })),
  );
  await load(
    db,
    'address_list_reads',
    reads.map(({ seq, slip44, at, page, showsNewest }) => ({
      seq,
      slip44,
      at_ms: at,
      page,
      shows_newest: showsNewest,
    })),
  );
}
