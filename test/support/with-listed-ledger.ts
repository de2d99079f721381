import { afterAll } from 'vitest';
import type { WalletClient } from '../../src/service/wallet-client.ts';
import type { SyncContext, SyncSettings } from '../../src/sync/sync-context.ts';
import { type ListingService, startListingService } from './listing-service.ts';
import { makeClient } from './make-client.ts';
import { toolsOver } from './tools-over.ts';
import { type TestLedger, withLedger } from './with-ledger.ts';

/** A service that answers with the data of the tests of a file, and a ledger that reads it; closed after the file. */
export async function withListedLedger(
  settings: Partial<SyncSettings> = {},
): Promise<TestLedger & { service: ListingService; client: WalletClient; context: SyncContext }> {
  const opened = await withLedger();
  const service = await startListingService();
  afterAll(() => service.close());
  const { client } = await makeClient(service.baseUrl);
  return {
    ...opened,
    service,
    client,
    context: toolsOver({ ledger: opened.ledger, client }, settings),
  };
}
