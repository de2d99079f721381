import type { Credentials } from './authentication/signing-recipes.ts';
import { withDefaults } from './sandbox-options.ts';
import type { SandboxWallet } from './sandbox-wallets.ts';
import type { Sandbox } from './start-sandbox.ts';

/**
 * Returns the environment variables for using the sandbox, including its secrets. Several wallets share the settings
 * without a prefix; each key and secret has the wallet's name in front.
 */
export function sandboxSettings(
  sandbox: Pick<Sandbox, 'baseUrl' | 'credentials' | 'options' | 'wallets'>,
): Record<string, string> {
  const walletNames = sandbox.wallets.map(({ name }) => name).join(',');
  const isSingle = sandbox.wallets.length === 1;
  const { paramNames, signHash, signEncoding } = sandbox.options;
  const names = Object.entries(paramNames).map(([meaning, name]) => `${meaning}=${name}`);
  const usualNames = JSON.stringify(withDefaults({}).paramNames);
  return {
    ...(walletNames !== 'main' && { WALLETS: walletNames }),
    WALLET_BASE_URL: sandbox.baseUrl,
    ...(isSingle && keySettings(sandbox.credentials)),
    WALLET_SIGNER: sandbox.credentials.signer,
    ...(JSON.stringify(paramNames) !== usualNames && { WALLET_PARAM_NAMES: names.join(',') }),
    ...(signHash && { WALLET_SIGN_HASH: signHash }),
    ...(signEncoding && { WALLET_SIGN_ENCODING: signEncoding }),
    ...Object.fromEntries(isSingle ? [] : sandbox.wallets.flatMap(prefixedKeySettings)),
  };
}

function keySettings({ apiKey, apiSecret }: Credentials): Record<string, string> {
  return { WALLET_API_KEY: apiKey, WALLET_API_SECRET: apiSecret };
}

function prefixedKeySettings({ name, credentials }: SandboxWallet): [string, string][] {
  const settings = Object.entries(keySettings(credentials));
  return settings.map(([setting, value]) => [`${name.toUpperCase()}__${setting}`, value]);
}
