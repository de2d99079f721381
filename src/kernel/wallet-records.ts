/**
 * Records that travel from the service's answers to the ledger. Decimals are text with the service's own digits; times
 * are Unix milliseconds. A field that was absent, empty or unreadable is null. An unreadable field, a blank amount and
 * a blank time also yield a Reject. Text with characters that cannot be stored yields a Reject and is kept with U+FFFD
 * in their place.
 */

export type TransactionRecord = {
  orderNo: string;
  requestId: string | null;
  symbol: string | null;
  txHash: string | null;
  fromAddress: string | null;
  toAddress: string | null;
  amount: string | null;
  type: string | null;
  state: string | null;
  occurredAt: number | null;
  /** Storable JSON text of the undocumented fields, or null. */
  extra: string | null;
  /** The service's names of the fields that yielded a Reject; absent without such fields. */
  unreadable?: string[];
};

/** Detail form (docs/wallet-service-api.md, section 2.3). */
export type TransactionDetailRecord = TransactionRecord & {
  confirmNum: number | null;
  fee: string | null;
  feeSymbol: string | null;
};

export type AddressRecord = { address: string };

export type CoinRecord = {
  slip44: number;
  symbol: string;
  /** Empty text for a main-chain coin. */
  contractAddress: string;
  name: string | null;
  decimals: number | null;
  depositState: number | null;
  withdrawState: number | null;
  /** The service's names of the fields that yielded a Reject; absent without such fields. */
  unreadable?: string[];
};

export type BalanceRecord = {
  slip44: number;
  symbol: string;
  /** Empty text for a main-chain coin. */
  contractAddress: string;
  name: string | null;
  chainName: string | null;
  chainSymbol: string | null;
  balance: string | null;
  frozen: string | null;
  decimals: number | null;
  /** The service's names of the fields that yielded a Reject; absent without such fields. */
  unreadable?: string[];
};

export type RecordSource =
  | 'transaction-list'
  | 'transaction-detail'
  | 'address-list'
  | 'coin-list'
  | 'balance-list';

/** A field that could not be decoded, or (without orderNo or key) a whole row. */
export type Reject = {
  source: RecordSource;
  orderNo: string | null;
  /** The service's name of the field, or of the key field for which the whole row could not be stored. */
  field: string | null;
  reason: string;
  /** JSON text of the row as received, numbers with their own digits; cut at 64 KiB. */
  payload: string;
};

/** The decoded rows of one answer, and the rejects. */
export type Decoded<T> = { records: T[]; rejects: Reject[] };

/** One page of a list (docs/wallet-service-api.md, section 2.2). */
export type Page<T> = Decoded<T> & {
  /** Observation of the request that returned the page. */
  observation: number;
  /** Page number in the answer; null if the answer had none. */
  pageNo: number | null;
  /** Items per page according to the answer, or the length of its list. */
  pageSize: number;
  /** The answer named no page size; `pageSize` is the length of its list. */
  isSizeMissing?: boolean;
  /** Null if the answer had no usable total. */
  totalSize: number | null;
  /** Length of the answer's list, including rows that could not be decoded. */
  listed: number;
  /** The answer had no total and no list. That means the end of the list only if earlier pages had rows. */
  isListless?: boolean;
  /** The service refused the page, which lies after the end of the list: nothing else about it is known. */
  isRefused?: boolean;
  /** Page 1 had no data. The list is empty, or the answer is a fault. */
  isNothing?: boolean;
};

/** Decoded rows of an answer that is not paged. `isListless`: it had null, {} or "" in place of its list. */
export type Snapshot<T> = Decoded<T> & { observation: number; isListless?: boolean };
