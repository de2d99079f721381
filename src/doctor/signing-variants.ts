import type { ServiceSettings } from '../config/settings.ts';
import { createSigner } from '../service/signing/create-signer.ts';
import type { Signer } from '../service/signing/signer.ts';
import {
  isSigningRecipeName,
  type SignatureEncoding,
  type SigningHash,
  type SigningRecipe,
  signingRecipes,
} from '../service/signing/signing-recipes.ts';
import type { Failure } from '../service/transport/judge-answer.ts';
import { askCoinsOnce, type Contact } from './ask-coins.ts';
import { badFinding, type Finding, skippedFinding, warningFinding } from './finding.ts';

export type SigningVariant = { hash: SigningHash; encoding: SignatureEncoding };

type Environment = Readonly<Record<string, string | undefined>>;

const variantsTriedMax = 4;

export function makeSigner(
  service: ServiceSettings,
  env: Environment,
  variant?: SigningVariant,
): Promise<Signer> {
  return createSigner({
    signer: service.signer,
    apiSecret: service.apiSecret,
    apiKey: service.apiKey ?? undefined,
    hash: variant?.hash ?? service.signHash ?? undefined,
    encoding: variant?.encoding ?? service.signEncoding ?? undefined,
    env,
  });
}

/**
 * Lists the other hashes and encodings that the recipe of the settings allows, the nearest first. Empty for a custom
 * signer.
 */
export function signingVariants(
  service: Pick<ServiceSettings, 'signer' | 'signHash' | 'signEncoding'>,
): SigningVariant[] {
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
 * Sends one request per variant, at most 4, until one is accepted. Stops at an answer that is not about the signature.
 */
export async function tryVariants(
  contact: Contact,
  variants: SigningVariant[],
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
  const tried = variants.slice(0, variantsTriedMax);
  for (const variant of tried) {
    const signer = await makeSigner(contact.service, env, variant);
    const { failure } = await askCoinsOnce(contact, signer);
    if (failure === null) {
      const works = `WALLET_SIGN_HASH=${variant.hash} and WALLET_SIGN_ENCODING=${variant.encoding}`;
      const seen = `the service accepts ${works}; the checks below use them`;
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
  const cure = `the secret, the key or WALLET_SIGNER is another than the service's: there are ${Object.keys(signingRecipes).join(', ')}`;
  return { finding: badFinding(name, seen, cure), signer: null };
}

function textOf({ hash, encoding }: SigningVariant): string {
  return `${hash} with ${encoding}`;
}
