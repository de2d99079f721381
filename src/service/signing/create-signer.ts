import { LedgerError } from '../../kernel/errors.ts';
import { findModuleMistake, loadSignerModule, type SignerSource } from './load-signer-module.ts';
import type { RequestToSign, Signer } from './signer.ts';
import { type Curve, findKeyMistake, parseSigningKey, type SigningKey } from './signing-key.ts';
import {
  digestOf,
  isSigningRecipeName,
  type SignatureEncoding,
  type SigningHash,
  type SigningRecipe,
  signingRecipes,
  signWithKey,
  signWithSecret,
} from './signing-recipes.ts';

export type SignerOptions = SignerSource & {
  /** Required by the hmac recipes; derived from the private key if absent. */
  apiKey?: string | undefined;
  /** Default: the hash of the recipe. */
  hash?: SigningHash | undefined;
  encoding?: SignatureEncoding | undefined;
};

/**
 * Creates the signer that the settings select. Throws a settings error that names the wrong setting and never contains
 * the secret. A module of the user is imported only from an explicit path.
 */
export async function createSigner(options: SignerOptions): Promise<Signer> {
  const { signer } = options;
  if (isSigningRecipeName(signer)) return createRecipeSigner(signingRecipes[signer], options);
  if (isModulePath(signer)) return await loadSignerModule(options);
  throw new LedgerError('settings', noSuchSigner);
}

const noSuchSigner = `WALLET_SIGNER is none of ${Object.keys(signingRecipes).join(', ')}, and not the path of a module`;

function isModulePath(signer: string): boolean {
  return /[/\\.]/.test(signer);
}

/**
 * Returns every mistake for which `createSigner` would refuse the settings, each in words that name its setting and
 * contain no secret. Runs no module. A secret or a key that is null is not set, which is no mistake here.
 */
export function findSignerMistakes(
  options: Omit<SignerOptions, 'apiSecret'> & { apiSecret: string | null },
): string[] {
  const { signer, apiSecret } = options;
  if (!isSigningRecipeName(signer)) {
    const mistake = isModulePath(signer) ? findModuleMistake(signer) : noSuchSigner;
    return mistake === null ? [] : [mistake];
  }
  const recipe: SigningRecipe = signingRecipes[signer];
  const [bareCurve] = recipe.curves;
  return [
    ...mistakeOf(() => assertEncodingFits(signer, bareCurve, options.encoding ?? recipe.encoding)),
    ...(bareCurve && apiSecret !== null
      ? mistakeOf(() => readKeys(recipe, bareCurve, { ...options, apiSecret }))
      : []),
    ...(!bareCurve && apiSecret !== null ? mistakeOf(() => refusePem(signer, apiSecret)) : []),
  ];
}

function mistakeOf(work: () => unknown): string[] {
  try {
    work();
    return [];
  } catch (error) {
    if (error instanceof LedgerError) return [error.message];
    throw error;
  }
}

function createRecipeSigner(recipe: SigningRecipe, options: SignerOptions): Signer {
  const hash = options.hash ?? recipe.hash;
  const encoding = options.encoding ?? recipe.encoding;
  const [bareCurve] = recipe.curves;
  assertEncodingFits(options.signer, bareCurve, encoding);
  if (!bareCurve) return createHmacSigner(recipe, options, hash, encoding);

  const { key, apiKey } = readKeys(recipe, bareCurve, options);
  const textOf = (request: RequestToSign) => recipe.stringToSign(request, apiKey);
  return {
    apiKey,
    publicKey: key.publicKey.compact,
    sign: (request) => ({ signature: signWithKey(textOf(request), key, hash, encoding) }),
    describe: (request) => ({
      stringToSign: textOf(request),
      digestHex: digestOf(textOf(request), hash).toString('hex'),
      publicKey: key.publicKey[recipe.apiKeyForm],
    }),
  };
}

/** Returns the private key, and the value of BIZ-API-KEY that belongs to it. */
function readKeys(
  recipe: SigningRecipe,
  bareCurve: Curve,
  { apiSecret, apiKey: given }: Pick<SignerOptions, 'apiSecret' | 'apiKey'>,
): { key: SigningKey; apiKey: string } {
  const curve = curveOfApiKey(recipe, given) ?? bareCurve;
  const key = parseSigningKey(apiSecret, recipe.curves, curve);
  return { key, apiKey: ownApiKey(recipe, key, given) };
}

function createHmacSigner(
  recipe: SigningRecipe,
  { apiKey, apiSecret, signer }: SignerOptions,
  hash: SigningHash,
  encoding: SignatureEncoding,
): Signer {
  if (!apiKey) {
    throw new LedgerError('settings', `WALLET_API_KEY is required with WALLET_SIGNER=${signer}`);
  }
  refusePem(signer, apiSecret);
  const textOf = (request: RequestToSign) => recipe.stringToSign(request, apiKey);
  return {
    apiKey,
    sign: (request) => ({ signature: signWithSecret(textOf(request), apiSecret, hash, encoding) }),
    describe: (request) => ({ stringToSign: textOf(request), digestHex: null, publicKey: null }),
  };
}

/** Throws a settings error if the shared secret of an hmac recipe is PEM: a key file is not a shared secret. */
function refusePem(signer: string, secret: string): void {
  if (!secret.trim().startsWith('-----BEGIN')) return;
  const mistake = findKeyMistake(secret);
  throw new LedgerError(
    'settings',
    `WALLET_API_SECRET is PEM, and WALLET_SIGNER=${signer} needs a shared secret as text${mistake === null ? '' : `; it is no readable private key either: ${mistake}`}`,
  );
}

function assertEncodingFits(signer: string, curve: Curve | undefined, encoding: SignatureEncoding) {
  const isEcdsa = curve === 'secp256k1' || curve === 'prime256v1';
  if (isEcdsa || encoding.startsWith('raw-')) return;
  throw new LedgerError(
    'settings',
    `WALLET_SIGN_ENCODING=${encoding} does not exist for WALLET_SIGNER=${signer}: use raw-hex or raw-base64`,
  );
}

/** Returns the curve of an SPKI public key, because a bare secret does not identify its curve. */
function curveOfApiKey(recipe: SigningRecipe, apiKey: string | undefined): Curve | undefined {
  const secp256k1Spki = '3056301006072a8648ce3d020106052b8104000a';
  return recipe.curves.includes('secp256k1') &&
    apiKey?.trim().toLowerCase().startsWith(secp256k1Spki)
    ? 'secp256k1'
    : undefined;
}

// Sends a given key unchanged: the form that the service expects is a guess, which the user may correct.
function ownApiKey(recipe: SigningRecipe, key: SigningKey, given: string | undefined): string {
  const own = key.publicKey[recipe.apiKeyForm];
  const apiKey = given?.trim();
  if (!apiKey) return own;
  if (Object.values(key.publicKey).includes(apiKey.toLowerCase())) return apiKey;
  throw new LedgerError(
    'settings',
    'WALLET_API_KEY is not the public key of WALLET_API_SECRET: leave it out, and the right one is derived, or correct it',
  );
}
