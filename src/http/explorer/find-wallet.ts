import type { Context } from 'hono';
import type { Site } from '../page/place.ts';
import type { Answer, ReadLedger } from './answer-page.ts';
import { coinPage } from './record-answers.ts';
import { addressPage, orderPage } from './transaction-answers.ts';

/** Reads the page about one thing of a wallet. */
type ReadRecord = (
  c: Context,
  id: string,
  from: { read: ReadLedger; site: Site },
) => Promise<Answer>;

/** Pages about one thing, by the path before its name. */
export const recordPages: Record<string, ReadRecord> = {
  transactions: (_, orderNo, { read, site }) => orderPage(orderNo, read, site),
  addresses: (_, address, { read }) => addressPage(address, read),
  coins: (c, symbol, { read }) => coinPage(c, symbol, read),
};

/**
 * Returns the first wallet that has the record `id` of this `kind`. Returns null if none has it, or if the ledger
 * cannot be read, which the page then shows.
 */
export async function findWallet(
  c: Context,
  { kind, id }: { kind: string; id: string },
  wallets: readonly { name: string; read: ReadLedger; site: Site }[],
): Promise<string | null> {
  try {
    for (const { name, ...from } of wallets) {
      const answer = await recordPages[kind]?.(c, id, from);
      if (answer !== undefined && !('nothingIn' in answer)) return name;
    }
    return null;
  } catch {
    return null;
  }
}
