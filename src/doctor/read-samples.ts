import { isOfRequest, LedgerError } from '../kernel/errors.ts';
import type { TransactionType } from '../kernel/vocabulary.ts';
import type { Page, TransactionRecord } from '../kernel/wallet-records.ts';
import type { WalletClient } from '../service/wallet-client.ts';

export type TransactionPage = Page<TransactionRecord>;

/** First samples of one list: two small pages and one larger page. */
export type ListSample = {
  type: TransactionType;
  first: TransactionPage;
  second: TransactionPage;
  /** Page 0, which is no page of a list; null if the service refuses it or page 1 holds all rows. */
  zero: TransactionPage | null;
  /** Page 1 with `larger` rows. */
  wide: TransactionPage;
};

export const sampleSizes = { small: 5, larger: 20 } as const;

export async function readSample(
  client: WalletClient,
  type: TransactionType,
  signal: AbortSignal,
): Promise<ListSample> {
  const read = (pageNo: number, pageSize: number) =>
    client.listTransactions({ type, pageNo, pageSize }, signal);
  const first = await read(1, sampleSizes.small);
  // Behind the end of a list a service may refuse the page or send the last one again, which shows nothing.
  const second = isWhole(first) ? pageBehind(first) : await read(2, sampleSizes.small);
  const zero = isWhole(first) ? null : await readZero(client, type, signal);
  return { type, first, second, zero, wide: await read(1, sampleSizes.larger) };
}

async function readZero(client: WalletClient, type: TransactionType, signal: AbortSignal) {
  const query = { type, pageNo: 0, pageSize: sampleSizes.small, attemptsMax: 1 };
  return await client.listTransactions(query, signal).catch((error: unknown) => {
    if (isOfRequest(error)) return null;
    throw error;
  });
}

function isWhole({ totalSize, listed }: TransactionPage): boolean {
  return totalSize === listed;
}

function pageBehind(page: TransactionPage): TransactionPage {
  return { ...page, pageNo: null, listed: 0, records: [], rejects: [] };
}

/** Result of requesting a page of `asked` rows: the page size by the answer, or the error message. */
export type SizeProbe = { asked: number; got: number } | { asked: number; refused: string };

/** Requests larger and larger first pages, up to the first that is refused or cut. */
export async function probePageSizes(
  client: WalletClient,
  type: TransactionType,
  signal: AbortSignal,
): Promise<{ probes: SizeProbe[]; largest: TransactionPage | null }> {
  const probes: SizeProbe[] = [];
  let largest: TransactionPage | null = null;
  for (const asked of [10, 50, 100, 200, 500]) {
    try {
      const page = await client.listTransactions({ type, pageNo: 1, pageSize: asked }, signal);
      probes.push({ asked, got: page.pageSize });
      if (!largest || page.listed >= largest.listed) largest = page;
      if (page.pageSize < asked) break;
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof LedgerError)) throw error;
      probes.push({ asked, refused: error.message });
      break;
    }
  }
  return { probes, largest };
}
