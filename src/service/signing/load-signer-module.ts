import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { LedgerError, toError } from '../../kernel/errors.ts';
import { type Distrust, findDistrust } from '../../kernel/trusted-path.ts';
import type { Environment } from '../../kernel/vocabulary.ts';
import { printableText } from '../decoding/printable-text.ts';
import type { Signer } from './signer.ts';

export type SignerSource = {
  /** WALLET_SIGNER: the name of a recipe, or the path of a module that default-exports a signer factory. */
  signer: string;
  apiSecret: string;
  /** Environment passed to a signer module of the user. */
  env?: Environment;
};

/** Returns the reason why the module cannot be run, if it can be seen without running it; null if there is none. */
export function findModuleMistake(path: string): string | null {
  if (!existsSync(resolve(path))) return `WALLET_SIGNER: there is no module ${path}`;
  const distrust = findDistrust(resolve(path));
  return distrust && `${distrusted(path, distrust)}; ${distrust.cure}`;
}

function distrusted(path: string, { what }: Distrust): string {
  return `WALLET_SIGNER: the module ${path} is not run, because another user could have changed it: ${what}`;
}

/**
 * Loads a signer of the user: `export default async ({ env, options }) => ({ apiKey, sign, verifyResponse? })`.
 * Resolves the path against the working directory, and refuses a module that another user may have written. Reports
 * errors of the module without their stack and with the secret redacted, because the module has the secret.
 */
export async function loadSignerModule(options: SignerSource): Promise<Signer> {
  const { signer: path, env = {}, ...rest } = options;
  const distrust = findDistrust(resolve(path));
  if (distrust)
    throw new LedgerError('settings', distrusted(path, distrust), { cure: distrust.cure });
  let made: unknown;
  try {
    const module: { default?: unknown } = await import(pathToFileURL(resolve(path)).href);
    made =
      typeof module.default === 'function' ? await module.default({ env, options: rest }) : null;
  } catch (thrown) {
    throw signerError('settings', `WALLET_SIGNER: the module ${path} failed`, thrown, options);
  }
  if (!isSigner(made)) {
    throw new LedgerError(
      'settings',
      `WALLET_SIGNER: the module ${path} must default-export a function that returns { apiKey, sign }`,
    );
  }
  const signer = made;
  return {
    apiKey: signer.apiKey,
    async sign(request) {
      try {
        return await signer.sign(request);
      } catch (thrown) {
        throw signerError(
          'service-authentication',
          'the signer module failed to sign',
          thrown,
          options,
        );
      }
    },
    ...(signer.verifyResponse && {
      async verifyResponse(answer) {
        try {
          await signer.verifyResponse?.(answer);
        } catch (thrown) {
          const what = 'the signer module did not accept the answer';
          throw signerError('service-malformed', what, thrown, options);
        }
      },
    }),
  };
}

function isSigner(made: unknown): made is Signer {
  if (typeof made !== 'object' || made === null) return false;
  const { apiKey, sign, verifyResponse } = made as Partial<Record<keyof Signer, unknown>>;
  return (
    typeof apiKey === 'string' &&
    apiKey !== '' &&
    typeof sign === 'function' &&
    (verifyResponse === undefined || typeof verifyResponse === 'function')
  );
}

function signerError(
  code: 'settings' | 'service-authentication' | 'service-malformed',
  what: string,
  thrown: unknown,
  { apiSecret }: SignerSource,
): LedgerError {
  const message = toError(thrown).message.replaceAll(apiSecret || '\0', '***');
  return new LedgerError(code, `${what}: ${printableText(message)}`);
}
