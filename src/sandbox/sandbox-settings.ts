import { withDefaults } from './sandbox-options.ts';
import type { Sandbox } from './start-sandbox.ts';

/** Returns the environment variables for using the sandbox, including its secret. */
export function sandboxSettings(
  sandbox: Pick<Sandbox, 'baseUrl' | 'credentials' | 'options'>,
): Record<string, string> {
  const { paramNames, signHash, signEncoding } = sandbox.options;
  const names = Object.entries(paramNames).map(([meaning, name]) => `${meaning}=${name}`);
  const usualNames = JSON.stringify(withDefaults({}).paramNames);
  return {
    WALLET_BASE_URL: sandbox.baseUrl,
    WALLET_API_KEY: sandbox.credentials.apiKey,
    WALLET_API_SECRET: sandbox.credentials.apiSecret,
    WALLET_SIGNER: sandbox.credentials.signer,
    ...(JSON.stringify(paramNames) !== usualNames && { WALLET_PARAM_NAMES: names.join(',') }),
    ...(signHash && { WALLET_SIGN_HASH: signHash }),
    ...(signEncoding && { WALLET_SIGN_ENCODING: signEncoding }),
  };
}
