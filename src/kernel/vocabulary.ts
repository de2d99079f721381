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
