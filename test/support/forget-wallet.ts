import { queryOnce } from './on-database.ts';

/** Detaches the ledger from its wallet: a test's next service has another port, and would count as another wallet. */
export async function forgetWallet(connectionString: string): Promise<void> {
  await queryOnce(connectionString, 'delete from ledger.wallets');
}
