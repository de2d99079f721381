import * as address from '../ledger/schema/addresses.ts';
import * as balance from '../ledger/schema/balances.ts';
import * as book from '../ledger/schema/books.ts';
import * as coin from '../ledger/schema/coins.ts';
import * as event from '../ledger/schema/events.ts';
import * as pool from '../ledger/schema/pools.ts';
import * as reconciliation from '../ledger/schema/reconciliation-runs.ts';
import * as reject from '../ledger/schema/rejects.ts';
import * as stream from '../ledger/schema/streams.ts';
import * as run from '../ledger/schema/sync-runs.ts';
import * as transaction from '../ledger/schema/transactions.ts';
import * as wallet from '../ledger/schema/wallets.ts';

// The tables of the schema `ledger` for Drizzle, to read. Amounts and times are texts. The meaning of each column is in
// docs/tables.md, and what later versions keep is in the view ledger.contract. A role needs the rights of a reader.

/** Chart of accounts: the name of each account of the view `ledger.postings`. */
export const accounts = book.accounts;
/** Holders of an address that was handed out more than once, one row for each. */
export const addressConflicts = address.addressConflicts;
/** Requests for new addresses, one row for each. */
export const addressRequests = address.addressRequests;
/** Deposit addresses per chain, one row for all spellings of an address. */
export const addresses = address.addresses;
/** Changes of balances, one row for each. */
export const balanceChanges = balance.balanceChanges;
/** Latest balance of each asset, as the service reports it. */
export const balances = balance.balances;
/** Books of the closed months as they were exported, one row for each line. */
export const closedBooks = book.closedBooks;
/** Months whose books are closed. */
export const closedMonths = book.closedMonths;
/** Changes of coins, one row for each. */
export const coinChanges = coin.coinChanges;
/** Coins that the service supports. */
export const coins = coin.coins;
/** Listed rows of each list and UTC day, and when the service last listed exactly these. */
export const coverage = stream.coverage;
/** The change feed. `openLedger().events()` reads it for a consumer. */
export const events = event.events;
/** Rows that came, changed or vanished after their month was closed. */
export const lateEntries = book.lateEntries;
/** Pools of addresses, and the state of filling each of them. */
export const pools = pool.pools;
/** Changes of the difference between transactions and balances, one row for each. */
export const reconciliationRuns = reconciliation.reconciliationRuns;
/** Values of the service that could not be read. */
export const rejects = reject.rejects;
/** Changes of a list's proof, one row for each. */
export const streamProofs = stream.streamProofs;
/** Lists of the service, with the proof that the ledger has all their rows. */
export const streams = stream.streams;
/** Passes of the program, one row for each. */
export const syncRuns = run.syncRuns;
/** Changes of transactions, one row for each field. */
export const transactionChanges = transaction.transactionChanges;
/** Deposits and withdrawals, one row for each order. */
export const transactions = transaction.transactions;
/** Wallets whose history the ledger keeps. */
export const wallets = wallet.wallets;
