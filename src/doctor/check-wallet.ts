import type { ServiceSettings } from '../config/settings.ts';
import type { Environment } from '../kernel/vocabulary.ts';
import type { Ledger } from '../ledger/connection/connect-ledger.ts';
import {
  compareIdentities,
  fingerprintOf,
  otherWalletCure,
  readWalletIdentity,
} from '../ledger/wallet-identity.ts';
import { badFinding, type Finding, okFinding } from './finding.ts';
import { makeSigner } from './signing-variants.ts';

const name = 'wallet';

/** Checks that the ledger belongs to the wallet of the settings. */
export async function checkWallet(
  { db, wallet }: Pick<Ledger, 'db' | 'wallet'>,
  service: ServiceSettings,
  env: Environment,
): Promise<Finding[]> {
  const stored = await readWalletIdentity(db, wallet);
  if (!stored) return [okFinding(name, 'the ledger does not belong to a wallet yet')];
  const keyFingerprint = fingerprintOf(await makeSigner(service, env));
  const differing = compareIdentities(stored, { baseUrl: service.baseUrl, keyFingerprint });
  if (differing !== null) return [badFinding(name, differing, otherWalletCure)];
  return [okFinding(name, 'the ledger belongs to the configured wallet')];
}
