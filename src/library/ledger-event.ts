import { requireObject, requireText } from './check-arguments.ts';

/**
 * A transaction as the change feed shows it: the row of `ledger.transactions` as it was at the event. The names are the
 * columns'; their meanings are in docs/tables.md. Amounts are decimal texts with the service's own digits. Times are
 * ISO 8601 with an offset. Source: `/v1/transaction/list` and `/v1/transaction/info` of the wallet service.
 */
export type TransactionFacts = {
  /** Identifier of the order, unique within its wallet. */
  order_no: string;
  stream: 'deposit' | 'withdraw';
  /** Identifier of a withdrawal's request; null for deposits. */
  request_id: string | null;
  symbol: string | null;
  tx_hash: string | null;
  from_address: string | null;
  to_address: string | null;
  /** In units of the coin, such as "1.50"; null if the service's value was unreadable. */
  amount: string | null;
  type: string | null;
  /** State as the service says. */
  state: string | null;
  /** Number of confirmations when the detail was last fetched. */
  confirm_num: number | null;
  /** In units of `fee_symbol`; null before the first detail. */
  fee: string | null;
  fee_symbol: string | null;
  /** Time of the transaction as the service says. */
  occurred_at: string | null;
  /** True if no further change is expected (WALLET_FINAL_STATES). */
  is_final: boolean;
  /** True if it moved money (WALLET_SUCCESS_STATES). A deposit counts while this and `is_listed` are true. */
  is_success: boolean;
  /** False since the service no longer lists it. */
  is_listed: boolean;
  is_backfilled: boolean;
  also_listed_in: string | null;
  first_seen_at: string;
  changed_at: string;
  /** Fields of the service that its document does not name; usually null. */
  extra: unknown;
  /**
   * Chain as its slip44 code, if it was known at the event. One that becomes known later is no change: it makes no
   * event and is not named in `changed`. Events of earlier versions lack this and `contract_address`.
   */
  slip44?: number | null;
  /** Contract of the coin on that chain: empty for a main-chain coin, null where it is not known. */
  contract_address?: string | null;
  /** Reference for which a deposit's address was handed out; null for other addresses and for withdrawals. */
  reference: string | null;
  /** Names of the fields that changed; null for a new row. */
  changed: string[] | null;
};

/** A deposit. `seq` is the number of the event that ended the wait, `wallet` the wallet that received it. */
export type Deposit = TransactionFacts & { seq: number; wallet: string };

type EventOf<Kind extends string, Data> = {
  /** 1, 2, 3 … in the order of the commits, over all wallets. */
  seq: number;
  /** ISO 8601, UTC. */
  recordedAt: string;
  /** Wallet that the event is of; '' for a problem of the whole database. */
  wallet: string;
  kind: Kind;
  /** Subject of the event; for a transaction, its order number. Unique within its wallet. */
  key: string;
  data: Data;
};

export type TransactionEvent = EventOf<
  `transaction.${'seen' | 'changed' | 'final' | 'reopened' | 'unlisted' | 'relisted'}`,
  TransactionFacts
>;

/** Event that is not of a transaction; docs/change-feed.md says what its `data` holds. */
export type OtherEvent = EventOf<
  | 'balance.changed'
  | 'address.used'
  | 'stream.complete'
  | 'stream.incomplete'
  | 'wallet.moved'
  | 'problem.raised'
  | 'problem.cleared',
  Record<string, unknown>
>;

/** Event of the change feed (docs/change-feed.md). `kind` tells which; later versions may add kinds. */
export type LedgerEvent = TransactionEvent | OtherEvent;

/**
 * Returns true for events of transactions, whose `data` is the transaction. Throws `usage` for a value that is not an
 * event.
 */
export function isTransactionEvent(event: LedgerEvent): event is TransactionEvent {
  requireObject('the event', event);
  requireText('the kind of the event', event.kind);
  return event.kind.startsWith('transaction.');
}

/** Reads an event from its JSON text. */
export function parseEvent(text: string): LedgerEvent {
  return JSON.parse(text) as LedgerEvent;
}
