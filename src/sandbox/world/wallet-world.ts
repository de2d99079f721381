import type { TransactionType } from '../../kernel/vocabulary.ts';
import { createTransferRoute, type Transfers } from '../history/internal-transfers.ts';
import type { TransactionWish } from '../history/invent-movement.ts';
import {
  createLivingHistory,
  type LivingHistory,
  type NewRawRow,
} from '../history/living-history.ts';
import { detailAt, orderNoOf, type TransactionDetail } from '../history/movement.ts';
import type { SandboxOptions } from '../sandbox-options.ts';
import { type AddressBook, createAddressBook } from './address-book.ts';
import { type Asset, allAssets, type Chain, decimalText } from './wallet-assets.ts';

type Coin = {
  name: string;
  symbol: string;
  decimal: number;
  depositState: number;
  withdrawState: number;
  slip44: number;
  contractAddress: string | null;
};

type Balance = {
  name: string;
  symbol: string;
  contractAddress: string | null;
  chainName: string;
  chainSymbol: string;
  slip44: number;
  balance: string;
  frozen: string;
  decimal: number;
};

/** Rows that can be counted and read by position; position 0 is the first of the list's order. */
export type Listing = { count: number; textAt(position: number): string };

/** Wallet behind the service. Every answer reflects the clock's time at the call. */
export type WalletWorld = {
  /**
   * Adds transactions and returns their orderNos. `at`: Unix ms, for rows that appear late with an old time; without it
   * they become the newest. Throws when a withdrawal is required and no coin covers one.
   */
  addTransactions(count: number, wish?: TransactionWish & { at?: number }): string[];
  /**
   * Sets a transaction's state, which then changes only by another call. Only `success` counts in `balance`; a
   * withdrawal in a state that is not final counts in `frozen`.
   */
  setState(orderNo: string, state: string): void;
  /** Removes a transaction from its lists and from the balances. */
  removeTransaction(orderNo: string): void;
  /**
   * Adds a row of arbitrary JSON; a string is used as JSON text without a change. `orderNo`: key for the detail
   * endpoint; default: the row's own, if it has one. `at`: Unix ms, its place in the list.
   */
  addRawListRow(type: TransactionType, row: object | string, options?: RawRowOptions): void;
  /** Returns the orderNos of transactions that are new or in another state since the last call; at first none. */
  takeChanges(): string[];
  /** Returns the true transactions in detail form, oldest first, without raw rows. */
  transactions(type?: TransactionType): TransactionDetail[];
  coins(): Coin[];
  balances(): Balance[];
  /** Returns all deposit addresses of a chain, oldest first, including those that are not listed yet. */
  addresses(slip44: number): string[];
  generateAddresses(slip44: number, num: number): string[];
  /** Number of addresses generated on the chain since the start. */
  generated(slip44: number): number;
  isSupported(slip44: number): boolean;
  transactionListing(type?: TransactionType): Listing;
  addressListing(slip44: number): Listing;
  /** Returns the JSON text of one transaction's detail; null when there is none. */
  detailText(key: { orderNo: string } | { requestId: string }): string | null;
};

type RawRowOptions = { at?: number; orderNo?: string; detail?: object | string };

/** Creates a wallet with a history; the same options create the same wallet. */
export function createWalletWorld(options: SandboxOptions): WalletWorld {
  const { world, history } = assembleWorld(options, null);
  history.grow();
  return world;
}

/**
 * Creates a wallet for each of the options, which differ in their seeds. With several wallets, some withdrawals of each
 * are deposits of the next one; the last wallet's are the first one's.
 */
export function createWalletWorlds(wallets: readonly SandboxOptions[]): WalletWorld[] {
  if (wallets.length === 1) return wallets.map(createWalletWorld);
  const histories: LivingHistory[] = [];
  const routes = wallets.map((sender, place) => {
    const recipient = wallets[(place + 1) % wallets.length] ?? sender;
    return createTransferRoute(sender, recipient, (time) => histories[place]?.growBefore(time));
  });
  const parts = wallets.map((options, place) => {
    const outgoing = routes[place];
    const incoming = routes.at(place - 1);
    const transfers = outgoing && incoming && { send: outgoing.send, take: incoming.take };
    return assembleWorld(options, transfers ?? null);
  });
  histories.push(...parts.map(({ history }) => history));
  for (const history of histories) history.grow();
  return parts.map(({ world }) => world);
}

function assembleWorld(
  options: SandboxOptions,
  transfers: Transfers | null,
): { world: WalletWorld; history: LivingHistory } {
  const assets = allAssets.filter((a) => options.supportedChains.includes(a.chain.slip44));
  const chains = [...new Set(assets.map((asset) => asset.chain))];
  const book = createAddressBook(chains, options);
  const payable = options.paysKnownOnly
    ? (slip44: number) => book.count(slip44) - book.generated(slip44)
    : book.count;
  const history = createLivingHistory(options, assets, payable, transfers);
  return { history, world: worldOf(options, { assets, chains, book, history }) };
}

type WorldParts = {
  assets: readonly Asset[];
  chains: readonly Chain[];
  book: AddressBook;
  history: LivingHistory;
};

function worldOf(
  { seed, clock }: SandboxOptions,
  { assets, chains, book, history }: WorldParts,
): WalletWorld {
  return {
    addTransactions: (count, wish = {}) =>
      history.add(count, wish).map((ordinal) => orderNoOf(seed, ordinal)),
    setState: history.setState,
    takeChanges: history.takeChanges,
    removeTransaction: history.remove,
    addRawListRow: (type, row, rawOptions = {}) => history.addRaw(rawRow(type, row, rawOptions)),
    transactions(type) {
      const now = clock();
      const movements = [...history.movements(type)];
      movements.sort((a, b) => a.time - b.time || a.ordinal - b.ordinal);
      return movements.map((movement) => detailAt(seed, movement, now));
    },
    coins: () => assets.map(coinOf),
    balances() {
      const totals = history.totals();
      return assets.map((asset) => balanceOf(asset, totals.get(asset)));
    },
    ...addressSide(book, clock),
    isSupported: (slip44) => chains.some((chain) => chain.slip44 === slip44),
    transactionListing(type) {
      const now = clock();
      const rows = history.listed(type);
      return {
        count: rows.length,
        textAt(position) {
          const ordinal = rows.at(position);
          if (ordinal === undefined) return 'null';
          const row = history.read(ordinal);
          return row.kind === 'raw' ? row.listText : listText(detailAt(seed, row, now));
        },
      };
    },
    detailText(key) {
      const row = history.find(key);
      if (row === undefined) return null;
      return row.kind === 'raw' ? row.detailText : JSON.stringify(detailAt(seed, row, clock()));
    },
  };
}

function addressSide(book: AddressBook, clock: () => number) {
  const listing = (slip44: number, count: number): Listing => ({
    count,
    textAt: (index) => JSON.stringify({ address: book.at(slip44, index) }),
  });
  return {
    addresses: (slip44: number) =>
      Array.from({ length: book.count(slip44) }, (_, i) => book.at(slip44, i) ?? ''),
    generateAddresses: (slip44: number, num: number) => book.generate(slip44, num, clock()),
    generated: book.generated,
    addressListing: (slip44: number) => listing(slip44, book.listedCount(slip44, clock())),
  };
}

// List form of a transaction (docs/wallet-service-api.md, section 2.4).
function listText({ confirmNum, fee, feeSymbol, ...row }: TransactionDetail): string {
  return JSON.stringify(row);
}

function rawRow(
  type: TransactionType,
  row: object | string,
  { at, orderNo, detail }: RawRowOptions,
): NewRawRow {
  const jsonText = (value: object | string) =>
    typeof value === 'string' ? value : JSON.stringify(value);
  const own = typeof row === 'object' && 'orderNo' in row ? row.orderNo : null;
  return {
    type,
    at,
    listText: jsonText(row),
    detailText: jsonText(detail ?? row),
    orderNo: orderNo ?? (typeof own === 'string' ? own : null),
  };
}

function coinOf({ chain, decimals, ...asset }: Asset): Coin {
  return { ...asset, decimal: decimals, slip44: chain.slip44 };
}

function balanceOf(asset: Asset, totals = { balance: 0n, frozen: 0n }): Balance {
  return {
    name: asset.name,
    symbol: asset.symbol,
    contractAddress: asset.contractAddress,
    chainName: asset.chain.name,
    chainSymbol: asset.chain.symbol,
    slip44: asset.chain.slip44,
    balance: decimalText(totals.balance, asset.decimals),
    frozen: decimalText(totals.frozen, asset.decimals),
    decimal: asset.decimals,
  };
}
