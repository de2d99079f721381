import { queryOnce } from './on-database.ts';

/** Makes the ledger nobody's: a test's next service has another port, and so would be another wallet's. */
export async function forgetWallet(connectionString: string): Promise<void> {
  await queryOnce(connectionString, 'delete from ledger.wallets');
}
