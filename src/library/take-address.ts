import { isConnectionLost } from '../ledger/connection/postgres-codes.ts';
import { libraryError } from './library-error.ts';
import type { Database } from './open-database.ts';

type Taken = { address: string | null };

const triesMax = 3;

/** Calls `ledger.take_address`. Without a wallet, uses the only wallet with a pool of the chain. */
export async function takeAddress(
  { ask, role }: Pick<Database, 'ask' | 'role'>,
  [slip44, reference]: [number, string],
  wallet: string | undefined,
): Promise<string | null> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const [row] = await (wallet === undefined
        ? ask<Taken>('select ledger.take_address($1::integer, $2::text) as address', [
            slip44,
            reference,
          ])
        : ask<Taken>('select ledger.take_address($1::text, $2::integer, $3::text) as address', [
            wallet,
            slip44,
            reference,
          ]));
      return row?.address ?? null;
    } catch (error) {
      // Safe to repeat: the reference gets the same address.
      if (!isConnectionLost(error) || attempt === triesMax) throw libraryError(error, role);
    }
  }
}
