import type { ServiceSettings } from '../config/settings.ts';
import { prefixOf } from '../config/wallet-names.ts';
import { LedgerError } from '../kernel/errors.ts';
import { fingerprintOf, type WalletIdentity } from '../ledger/wallet-identity.ts';
import { createSigner } from '../service/signing/create-signer.ts';
import type { Signer } from '../service/signing/signer.ts';
import type { CommandContext } from './command-context.ts';

export type OpenedWallet = { service: ServiceSettings; signer: Signer; identity: WalletIdentity };

/** Returns the wallet of the settings: the service's settings, the signer, and the identity that the ledger stores. */
export async function openWallet(
  context: Pick<CommandContext, 'settings' | 'env'>,
): Promise<OpenedWallet> {
  const service = serviceSettings(context);
  const signer = await createSigner({
    signer: service.signer,
    apiSecret: service.apiSecret,
    apiKey: service.apiKey ?? undefined,
    hash: service.signHash ?? undefined,
    encoding: service.signEncoding ?? undefined,
    env: environmentOfWallet(context),
  });
  const identity = { baseUrl: service.baseUrl, keyFingerprint: fingerprintOf(signer) };
  return { service, signer, identity };
}

/** Returns the settings of the service; throws a settings error that names the missing ones. */
function serviceSettings({
  settings,
  env,
}: Pick<CommandContext, 'settings' | 'env'>): ServiceSettings {
  if (settings.service) return settings.service;
  const own = environmentOfWallet({ settings, env });
  const prefix = settings.walletNames.length === 1 ? '' : prefixOf(settings.wallet);
  const missing = ['WALLET_BASE_URL', 'WALLET_API_SECRET', 'WALLET_API_KEY']
    .filter((name) => !own[name])
    .map((name) => `${prefix}${name}`);
  throw new LedgerError('settings', `${missing.join(', ')} must be set to use the wallet service`, {
    cure: 'set it in the environment or the file .env; `wallet-ledger demo` needs no settings',
  });
}

/** Returns the environment with this wallet's own variables in place of the shared ones. */
function environmentOfWallet({ settings, env }: Pick<CommandContext, 'settings' | 'env'>) {
  const prefix = prefixOf(settings.wallet);
  const own = Object.entries(env)
    .filter(([name]) => name.startsWith(prefix))
    .map(([name, value]) => [name.slice(prefix.length), value]);
  return { ...env, ...Object.fromEntries(own) } as CommandContext['env'];
}
