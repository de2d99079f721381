import type { ServiceSettings } from '../config/settings.ts';
import type { Environment } from '../kernel/vocabulary.ts';
import { createSigner } from '../service/signing/create-signer.ts';
import type { Signer } from '../service/signing/signer.ts';
import {
  isSigningRecipeName,
  type SignatureEncoding,
  type SigningHash,
  type SigningRecipe,
  type SigningRecipeName,
  signingRecipes,
} from '../service/signing/signing-recipes.ts';
import type { Failure } from '../service/transport/judge-answer.ts';
import { askCoinsOnce, type Contact } from './ask-coins.ts';
import { badFinding, type Finding, skippedFinding, warningFinding } from './finding.ts';

/** Another way to sign. `signer` is a recipe other than that of the settings, with its own hash and encoding. */
export type SigningVariant =
  | { hash: SigningHash; encoding: SignatureEncoding }
  | { signer: SigningRecipeName };

const variantsTriedMax = 4;

export function makeSigner(
  service: ServiceSettings,
  env: Environment,
  variant?: SigningVariant,
): Promise<Signer> {
  const { signer, signHash: hash, signEncoding: encoding } = service;
  const way = variant ?? { hash: hash ?? undefined, encoding: encoding ?? undefined };
  return createSigner({
    signer,
    apiSecret: service.apiSecret,
    apiKey: service.apiKey ?? undefined,
    ...way,
    env,
  });
}

/**
 * Lists the other hashes and encodings that the recipe of the settings allows, the nearest first. Empty for a custom
 * signer.
 */
export function signingVariants(
  service: Pick<ServiceSettings, 'signer' | 'signHash' | 'signEncoding'>,
): { hash: SigningHash; encoding: SignatureEncoding }[] {
  const { signer } = service;
  if (!isSigningRecipeName(signer)) return [];
  const recipe: SigningRecipe = signingRecipes[signer];
  const hash = service.signHash ?? recipe.hash;
  const encoding = service.signEncoding ?? recipe.encoding;
  const otherHash = hash === 'sha256' ? 'sha256d' : 'sha256';
  const encodings = nearestEncodings(encoding, recipe);
  return encodings
    .flatMap((each) => [{ hash, encoding: each }, { hash: otherHash, encoding: each } as const])
    .filter((variant) => variant.hash !== hash || variant.encoding !== encoding);
}

/** Lists the other recipes that the secret and the key fit. Empty for a custom signer. */
export async function fittingRecipes(
  service: ServiceSettings,
  env: Environment,
): Promise<SigningVariant[]> {
  if (!isSigningRecipeName(service.signer)) return [];
  const others = Object.keys(signingRecipes)
    .filter(isSigningRecipeName)
    .filter((name) => name !== service.signer);
  const fitting: SigningVariant[] = [];
  for (const signer of others) {
    const isFitting = await makeSigner(service, env, { signer }).then(
      () => true,
      () => false,
    );
    if (isFitting) fitting.push({ signer });
  }
  return fitting;
}

/**
 * Lists the given encoding, the other form in the same alphabet, then the other alphabet. DER exists for ECDSA only.
 */
function nearestEncodings(encoding: SignatureEncoding, recipe: SigningRecipe): SignatureEncoding[] {
  const [form, alphabet] = encoding.split('-') as ['der' | 'raw', 'hex' | 'base64'];
  const otherForm = form === 'der' ? 'raw' : 'der';
  const otherAlphabet = alphabet === 'hex' ? 'base64' : 'hex';
  const isEcdsa = recipe.curves.some((curve) => curve !== 'ed25519');
  const all: SignatureEncoding[] = [
    encoding,
    `${otherForm}-${alphabet}`,
    `${form}-${otherAlphabet}`,
    `${otherForm}-${otherAlphabet}`,
  ];
  return all.filter((each) => isEcdsa || each.startsWith('raw-'));
}

/**
 * Sends one request per other recipe and per variant, of these at most 4, until one is accepted. Stops at an answer
 * that is not about the signature.
 */
export async function tryVariants(
  contact: Contact,
  { recipes, variants }: { recipes: SigningVariant[]; variants: SigningVariant[] },
  env: Environment,
  isRefusal: (failure: Failure) => boolean,
): Promise<{ finding: Finding; signer: Signer | null }> {
  const name = 'signing-variants';
  if (variants.length === 0) {
    return {
      finding: skippedFinding(name, 'a signer module has no variants to try'),
      signer: null,
    };
  }
  const tried = [...recipes, ...variants.slice(0, variantsTriedMax)];
  for (const variant of tried) {
    const signer = await makeSigner(contact.service, env, variant);
    const { failure } = await askCoinsOnce(contact, signer);
    if (failure === null) {
      const works = settingsOf(variant);
      const seen = `the service accepts ${works}; the checks below use it`;
      return { finding: warningFinding(name, seen, `set ${works}`), signer };
    }
    if (!isRefusal(failure)) {
      const seen = `stopped at ${textOf(variant)}: ${failure.message}`;
      return { finding: badFinding(name, seen, 'run the command again'), signer: null };
    }
  }
  const others = variants.slice(variantsTriedMax);
  const untried = others.length === 0 ? '' : `; not tried: ${others.map(textOf).join(', ')}`;
  const seen = `refused, too: ${tried.map(textOf).join(', ')}${untried}`;
  const cure = `the secret, the key or WALLET_SIGNER does not match the service; recipes: ${Object.keys(signingRecipes).join(', ')}`;
  return { finding: badFinding(name, seen, cure), signer: null };
}

function settingsOf(variant: SigningVariant): string {
  if ('signer' in variant) return `WALLET_SIGNER=${variant.signer}, without hash and encoding`;
  return `WALLET_SIGN_HASH=${variant.hash} and WALLET_SIGN_ENCODING=${variant.encoding}`;
}

function textOf(variant: SigningVariant): string {
  return 'signer' in variant ? variant.signer : `${variant.hash} with ${variant.encoding}`;
}
