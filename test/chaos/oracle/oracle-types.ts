import type pg from 'pg';
import type { ListHistory } from './list-history.ts';

/** Options of an oracle; the same seed gives the same history, coins, balances and odd rows. */
export type OracleOptions = {
  seed: number;
  /** Transactions at the start, odd rows not counted. */
  history: number;
  /** The chains that addresses can be generated for. */
  slip44s: number[];
  /** Larger pages are answered with this many items. */
  pageSizeMax: number;
  /** Time (ms) for which a generated address is missing in the list. Default 0. */
  addressListLagMs?: number;
  /** Newest transactions on page 1. Default true. */
  newestFirst?: boolean;
  /** Rows with hostile values, there from the start and never changed. Default 0. */
  oddRows?: number;
  /** Every balance is the sum of its transactions. Default false. */
  allPlain?: boolean;
  /**
   * Share of requests whose signature is verified, a third of a millisecond each; of the others only the key and the
   * nonce are judged. Default 1.
   */
  verifyShare?: number;
};

/** Rates 0..1 of false content, per answer; may be changed at any time. All are 0 at the start. */
export type Lies = {
  /** A list answers with smaller pages than requested, and states the size in pageSize. */
  clampPage: number;
  /** totalSize is off, text, null or missing. */
  wrongTotal: number;
  /** A page as the list was before its last arrivals. */
  stalePage: number;
  /** The detail of another order. */
  wrongDetail: number;
  /** One row of a page replaces its neighbour too. */
  duplicateInPage: number;
  /** Half the answers of a list come from a replica that is seconds behind, in rows and total. */
  oldReplica: number;
  /** The total is that of some seconds ago. */
  laggingTotal: number;
  /** The total counts rows that are not listed yet. */
  aheadTotal: number;
  /** No total above a thousand. */
  cappedTotal: number;
  /** A page shows fewer rows than it claims. */
  shortPage: number;
  /** A row in the middle of the page is no JSON. */
  spoiltPage: number;
  /** The first page of withdrawals shows a deposit, too. */
  otherListsRow: number;
  /** A page beyond the end answers with the last page, null, or nothing at all in `list`. */
  boundaryPage: number;
};

/** One request as received, with any result. */
export type OracleCall = {
  /** Also in the answer's header `x-oracle-call`. */
  serial: number;
  /** Milliseconds of the wall clock. */
  at: number;
  method: string;
  /** Path without the query. */
  path: string;
  slip44: number | null;
  nonce: string | null;
  /** True if key, signature and nonce were good. */
  accepted: boolean;
  /** `ok`, or the reason of the refusal; with `:lie` and its name if the answer was false. */
  answer: string;
};

/** The truth of one wallet service, and the service itself; runs inside the caller's process. */
export type Oracle = {
  readonly port: number;
  /** `http://127.0.0.1:<port>`, for WALLET_BASE_URL. */
  readonly baseUrl: string;
  /** Hex, for WALLET_API_SECRET. */
  readonly privateKey: string;
  /** The public key in hex, for WALLET_API_KEY. */
  readonly apiKey: string;
  /** Creates deposits and withdrawals; returns their order numbers. By default 3 of 100 are late, by up to a day. */
  arrive(count: number, when?: { isLate?: boolean }): string[];
  /** Moves that many open rows one step on (state, confirmNum and fee appear); returns the number moved. */
  advance(count: number): number;
  /** Moves every open row to a final state; returns the number moved. */
  settle(): number;
  /** Changes fields of final rows; returns the number changed. */
  amend(count: number): number;
  /** Changes balances, and sometimes the states of a coin; returns the number of changed balances. */
  moveBalances(count: number): number;
  /** An operator generates that many addresses of the chain at the service, without the program. */
  operate(slip44: number, count: number): void;
  /** True for an address that a request of the program generated. */
  isGenerated(slip44: number, address: string): boolean;
  /** Removes final orders from their lists; the returned function restores them. */
  hide(count: number): () => void;
  readonly missShown: ListHistory['missShown'];
  /** Mutable. */
  readonly lies: Lies;
  /** The requests received, the latest 200,000 at most. */
  readonly calls: readonly OracleCall[];
  /** TCP connections that are open at the moment. */
  openConnections(): number;
  /** For a proxy to report that the answer of this call never arrived completely. */
  noteLostAnswer(serial: number): void;
  /** (Re)creates the schema `oracle` in that database and loads the truth into it. */
  writeTruth(client: pg.Client | pg.Pool): Promise<void>;
  close(): Promise<void>;
};
