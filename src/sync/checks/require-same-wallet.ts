import { countWords } from '../../kernel/count-words.ts';
import { type ErrorCode, isOfRequest, LedgerError } from '../../kernel/errors.ts';
import { transactionTypes } from '../../kernel/vocabulary.ts';
import type { LedgerDb } from '../../ledger/connection/connect-ledger.ts';
import {
  type Holdings,
  holdsAddress,
  holdsTransaction,
  listNewestOrders,
  readHoldings,
} from '../../ledger/holdings.ts';
import { readListHead } from '../../ledger/lists/stream-store.ts';
import type { WalletClient } from '../../service/wallet-client.ts';

type Asked = {
  db: LedgerDb;
  client: Pick<WalletClient, 'listTransactions' | 'listAddresses' | 'getTransaction'>;
  signal: AbortSignal;
};

/** Stored orders for which the service is asked, if its lists begin with others. */
const ordersMax = 3;
/** Every service grants this page size (docs/wallet-service-api.md, section 8). */
const documentedPageSize = 10;
const attemptsMax = 3;

/**
 * Throws LedgerError `settings` if the service, asked through this client, knows nothing of what the ledger holds: the
 * client's key is that of another wallet. An empty ledger needs no request, another one at most seven. Errors of the
 * service are thrown as they are. `baseUrl`: the service's address, for the message.
 */
export async function requireSameWallet(asked: Asked, baseUrl: string): Promise<void> {
  const holdings = await readHoldings(asked.db);
  const { transactions, addresses, slip44 } = holdings;
  if (transactions + addresses === 0) return;
  if (transactions > 0 && ((await listsTransaction(asked)) || (await knowsOrder(asked)))) return;
  if (slip44 !== null && (await knowsAddress(asked, slip44))) return;
  const known = `the service at ${baseUrl} knows none of the ledger's ${holdingWords(holdings)} under this key`;
  throw new LedgerError('settings', `${known}: it seems to be another wallet's`, {
    cure: 'nothing was recorded; if a setting is mistaken, correct WALLET_API_SECRET, WALLET_API_KEY or WALLET_BASE_URL; for another wallet, set DATABASE_URL to another database, or name it in WALLETS',
  });
}

function holdingWords({ transactions, addresses }: Holdings): string {
  const [count, noun, ending] =
    transactions > 0 ? [transactions, 'transaction', 's'] : [addresses, 'address', 'es'];
  return `${countWords(count)} ${noun}${count === 1 ? '' : ending}`;
}

/** Returns true if the first page of a transaction list shows a stored one. */
async function listsTransaction({ db, client, signal }: Asked): Promise<boolean> {
  for (const type of transactionTypes) {
    const pageSize = await pageSizeOf(db, type);
    const query = { type, pageNo: 1, pageSize, attemptsMax, isKnownEmpty: true };
    const { records } = await client.listTransactions(query, signal);
    if (await holdsTransaction(db, records)) return true;
  }
  return false;
}

/** Returns true if the service has the details of one of the newest stored orders. */
async function knowsOrder({ db, client, signal }: Asked): Promise<boolean> {
  let failure: LedgerError | null = null;
  for (const orderNo of await listNewestOrders(db, ordersMax)) {
    try {
      const { records } = await client.getTransaction(orderNo, signal, { isAskedOnce: true });
      if (await holdsTransaction(db, records)) return true;
    } catch (error) {
      if (!isAnswerAboutOrder(error)) throw error;
      if (error.isAnswered) failure = error;
    }
  }
  // A service that fails, with HTTP 500 for example, has not said that it does not know the order.
  if (failure) throw failure;
  return false;
}

const refusals: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['service-authentication']);

/** The lists have shown that the key is accepted, so a refusal concerns the order, or the right to see it. */
function isAnswerAboutOrder(error: unknown): error is LedgerError {
  return isOfRequest(error) || (error instanceof LedgerError && refusals.has(error.code));
}

/** Returns true if the first or the last page of the chain's address list shows a stored address. */
async function knowsAddress({ db, client, signal }: Asked, slip44: number): Promise<boolean> {
  const pageSize = await pageSizeOf(db, `addresses:${slip44}`);
  const read = (pageNo: number) =>
    client.listAddresses({ slip44, pageNo, pageSize, attemptsMax, isKnownEmpty: true }, signal);
  const first = await read(1);
  if (await isAnyHeld(first.records)) return true;
  const { totalSize } = first;
  const last = totalSize === null ? 1 : Math.ceil(totalSize / Math.max(1, first.pageSize));
  return last > 1 && (await isAnyHeld((await read(last)).records));

  function isAnyHeld(records: readonly { address: string }[]): Promise<boolean> {
    return holdsAddress(
      db,
      records.map(({ address }) => address),
    );
  }
}

async function pageSizeOf(db: LedgerDb, list: string): Promise<number> {
  return (await readListHead(db, list))?.pageSize ?? documentedPageSize;
}
