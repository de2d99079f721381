import { Client } from 'pg';

/** Makes the ledger nobody's: a test's next service has another port, and so would be another wallet's. */
export async function forgetWallet(connectionString: string): Promise<void> {
  const client = new Client({ connectionString });
  await client.connect();
  try {
    await client.query('delete from ledger.wallets');
  } finally {
    await client.end();
  }
}
