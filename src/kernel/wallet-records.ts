/**
 * The records that travel from the service's answers to the ledger. Decimals are text with the service's own
 * digits; times are Unix milliseconds; a field that was absent, empty or unreadable is null (an unreadable one
 * also yields a Reject).
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
  /** Storable JSON text of the fields that the service's document does not name, or null. */
  extra: string | null;
  /** The service's names of fields that hold something unreadable, so that their null says nothing. Absent: none. */
  unreadable?: string[];
};

/** Detail form (section 2.3 of the service's document). */
export type TransactionDetailRecord = TransactionRecord & {
  confirmNum: number | null;
  fee: string | null;
  feeSymbol: string | null;
};

export type AddressRecord = { address: string };

export type CoinRecord = {
  slip44: number;
  symbol: string;
  /** '' for a main-chain coin. */
  contractAddress: string;
  name: string | null;
  decimals: number | null;
  depositState: number | null;
  withdrawState: number | null;
};

export type BalanceRecord = {
  slip44: number;
  symbol: string;
  /** '' for a main-chain coin. */
  contractAddress: string;
  name: string | null;
  chainName: string | null;
  chainSymbol: string | null;
  balance: string | null;
  frozen: string | null;
  decimals: number | null;
};

export type RecordSource =
  | 'transaction-list'
  | 'transaction-detail'
  | 'address-list'
  | 'coin-list'
  | 'balance-list';

/** What could not be decoded: a field of a row, or (without orderNo or key) a whole row. */
export type Reject = {
  source: RecordSource;
  orderNo: string | null;
  /** The service's name of the field; of the one that makes a key where the whole row could not be stored. */
  field: string | null;
  reason: string;
  /** JSON text of the row as it came, numbers with their own digits; cut at 64 KiB. */
  payload: string;
};

/** The decoded rows of one answer, and what could not be decoded. */
export type Decoded<T> = { records: T[]; rejects: Reject[] };

/** One page of a list (section 2.2 of the service's document). */
export type Page<T> = Decoded<T> & {
  /** The ticket's number of the request that brought the page. */
  observation: number;
  /** Echo of the page number, null when the answer had none. */
  pageNo: number | null;
  /** Items per page as the answer says; its list's length where it says nothing usable. */
  pageSize: number;
  /** Null when the answer had no usable total. */
  totalSize: number | null;
  /** Length of the answer's list, rows that could not be decoded included. */
  listed: number;
};

/** Decoded rows of an answer that is not paged. */
export type Snapshot<T> = Decoded<T> & { observation: number };
