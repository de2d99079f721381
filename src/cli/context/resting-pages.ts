import type { WalletContent } from '../../http/add-sites.ts';
import type { Ledger } from '../../ledger/connection/connect-ledger.ts';
import type { LedgerStatus } from '../../ledger/reports/ledger-status.ts';
import { readFlows } from '../../ledger/reports/read-flows.ts';
import { readStatus } from '../../ledger/reports/read-status.ts';
import { listResting } from '../../ledger/wallet-identity.ts';
import type { StatusReport } from '../../status/status-report.ts';
import { describePlace, withoutScheme } from '../output/describe-place.ts';
import type { CommandContext } from './command-context.ts';
import { createPageReader } from './create-page-reader.ts';

/**
 * Returns the pages of the wallets that no daemon reads any more. Their rows are kept, so they can be looked up.
 * `complete` makes a report from a status of the ledger.
 */
export async function restingPages(
  context: CommandContext,
  ledger: Ledger,
  complete: (status: LedgerStatus) => Promise<StatusReport>,
): Promise<WalletContent[]> {
  const resting = await listResting(ledger.db);
  return resting.map(({ wallet, baseUrl }) => {
    const own = ledger.forWallet(wallet);
    return {
      name: wallet,
      place: {
        ...describePlace(context),
        wallet: `${wallet} (resting: kept, no longer read)`,
        service: context.redact(withoutScheme(baseUrl)),
      },
      readFlows: () => readFlows(own.db),
      read: createPageReader(own, context.redact),
      readStatus: async () => complete(await readStatus(own.db, [])),
    };
  });
}
