/** Words that several rooms share. */

/** Orders of a list of the service. */
export const listOrders = ['newest-first', 'oldest-first', 'unordered'] as const;
export type ListOrder = (typeof listOrders)[number];

/** Types of transactions; the streams of their lists have the same names. */
export type TransactionType = 'deposit' | 'withdraw';
export const transactionTypes: TransactionType[] = ['deposit', 'withdraw'];

/** Tasks of a pass over everything, in the order in which it runs them. */
export const taskNames = [
  'transactions',
  'details',
  'balances',
  'coins',
  'addresses',
  'pools',
] as const;
export type TaskName = (typeof taskNames)[number];

/** Key of an asset; `contractAddress` is '' for a main-chain coin. */
export type AssetKey = { slip44: number; symbol: string; contractAddress: string };

/** Names of the service's query parameters. */
export type ParamNames = { page: string; size: string; chain: string; type: string };

/** Environment variables. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The days from `low` to `high` (null: unbounded) were read completely; days without an entry listed no row. Days count
 * from 1970.
 */
export type ReadDays = {
  low: number | null;
  high: number | null;
  rows: [day: number, rows: number][];
  /**
   * Rows beyond this time (Unix ms) arrived after the reading began. Null: the reading did not begin at the newest row.
   */
  head: number | null;
  /** The reading has just begun at the list's newest row: the ledger must list nothing beyond `head`. */
  isHeadNew: boolean;
  /** Days with a listed row that the ledger cannot store; none of them is verified. */
  unstored?: number[];
};

/** Total of a list, and the observation of the answer that told it (0: not known). Of two the later one counts. */
export type ReportedTotal = { serviceTotal: number | null; totalObservation: number };
