import type { ServiceSettings } from '../config/settings.ts';
import { LedgerError } from '../kernel/errors.ts';
import type { Environment } from '../kernel/vocabulary.ts';
import type { Ledger } from '../ledger/connection/connect-ledger.ts';
import { fingerprintOf, requireWallet } from '../ledger/wallet-identity.ts';
import { badFinding, type Finding, okFinding } from './finding.ts';
import { makeSigner } from './signing-variants.ts';

const name = 'wallet';

/** Checks that the ledger belongs to the wallet of the settings. */
export async function checkWallet(
  { db, wallet }: Pick<Ledger, 'db' | 'wallet'>,
  service: ServiceSettings,
  env: Environment,
): Promise<Finding[]> {
  const keyFingerprint = fingerprintOf(await makeSigner(service, env));
  try {
    const isKept = await requireWallet(db, wallet, { baseUrl: service.baseUrl, keyFingerprint });
    const belongs = isKept ? 'belongs to the configured wallet' : 'does not belong to a wallet yet';
    return [okFinding(name, `the ledger ${belongs}`)];
  } catch (error) {
    if (!(error instanceof LedgerError && error.code === 'settings')) throw error;
    return [badFinding(name, error.message, error.cure)];
  }
}
