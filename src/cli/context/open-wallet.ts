import { isHmac } from '../../config/check-wallets.ts';
import type { ServiceSettings } from '../../config/settings.ts';
import { prefixOf } from '../../config/wallet-names.ts';
import { LedgerError } from '../../kernel/errors.ts';
import {
  fingerprintOf,
  type NamedIdentity,
  type WalletIdentity,
} from '../../ledger/wallet-identity.ts';
import { createSigner } from '../../service/signing/create-signer.ts';
import type { Signer } from '../../service/signing/signer.ts';
import { isSigningRecipeName } from '../../service/signing/signing-recipes.ts';
import type { CommandContext } from './command-context.ts';

export type OpenedWallet = { service: ServiceSettings; signer: Signer; identity: WalletIdentity };

type SettingsAndEnv = Pick<CommandContext, 'settings' | 'env'>;

/** Returns the wallet of the settings: the service's settings, the signer, and the identity that the ledger stores. */
export async function openWallet(context: SettingsAndEnv): Promise<OpenedWallet> {
  const { service } = context.settings;
  // The command line demands these settings of each command that comes here.
  if (service === null)
    throw new LedgerError('settings', 'the settings of the wallet service are not complete');
  const signer = await signerOf(context, service);
  const identity = { baseUrl: service.baseUrl, keyFingerprint: fingerprintOf(signer) };
  return { service, signer, identity };
}

/**
 * Returns as much of the wallet's identity as the settings name. Without `mayLoad`, the key of a signer module is not
 * known, because the module would have to run.
 */
export async function identityOfSettings(
  context: SettingsAndEnv,
  { mayLoad }: { mayLoad: boolean },
): Promise<NamedIdentity> {
  const { baseUrl, apiSecret, ...service } = context.settings.partialService;
  const isKeyNamed = apiSecret !== null && (!isHmac(service.signer) || service.apiKey !== null);
  if (!isKeyNamed || !(mayLoad || isSigningRecipeName(service.signer)))
    return { baseUrl, keyFingerprint: null };
  const signer = await signerOf(context, { ...service, apiSecret });
  return { baseUrl, keyFingerprint: fingerprintOf(signer) };
}

function signerOf(
  { settings, env }: SettingsAndEnv,
  service: Omit<ServiceSettings, 'baseUrl'>,
): Promise<Signer> {
  return createSigner({
    signer: service.signer,
    apiSecret: service.apiSecret,
    apiKey: service.apiKey ?? undefined,
    hash: service.signHash ?? undefined,
    encoding: service.signEncoding ?? undefined,
    env: environmentOfWallet({ settings, env }),
  });
}

/** Returns the environment with this wallet's own variables in place of the shared ones. */
function environmentOfWallet({ settings, env }: SettingsAndEnv) {
  const prefix = prefixOf(settings.wallet);
  const own = Object.entries(env)
    .filter(([name]) => name.startsWith(prefix))
    .map(([name, value]) => [name.slice(prefix.length), value]);
  return { ...env, ...Object.fromEntries(own) } as CommandContext['env'];
}
