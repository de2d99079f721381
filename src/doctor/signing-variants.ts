import type { ServiceSettings } from '../config/settings.ts';
import type { Environment } from '../kernel/vocabulary.ts';
import { createSigner } from '../service/signing/create-signer.ts';
import type { Signer } from '../service/signing/signer.ts';
import { isSigningRecipeName, signingRecipes } from '../service/signing/signing-recipes.ts';
import type { Failure } from '../service/transport/judge-answer.ts';
import { askCoinsOnce, type Contact } from './ask-coins.ts';
import { badFinding, type Finding, skippedFinding, warningFinding } from './finding.ts';
import {
  type FittingWay,
  fittingWays,
  isSameWay,
  type SigningWay,
  wayWords,
} from './signing-ways.ts';

const name = 'signing-variants';

export function makeSigner(service: ServiceSettings, env: Environment): Promise<Signer> {
  return createSigner({
    signer: service.signer,
    apiSecret: service.apiSecret,
    apiKey: service.apiKey ?? undefined,
    hash: service.signHash ?? undefined,
    encoding: service.signEncoding ?? undefined,
    env,
  });
}

/** Returns the other ways to sign that fit the credentials, the likeliest first; null for a signer module. */
async function otherWays(service: ServiceSettings): Promise<FittingWay[] | null> {
  const { signer: recipe, signHash: hash, signEncoding: encoding } = service;
  if (!isSigningRecipeName(recipe)) return null;
  const ways = await fittingWays(service, recipe);
  return ways.filter(({ way }) => !isSameWay(way, { recipe, hash, encoding }));
}

/**
 * Sends one request for each other way to sign that fits the credentials, until one is accepted. Stops at an answer
 * that is not about the signature. `onTrying` receives the number of requests before the first one.
 */
export async function tryVariants(
  contact: Contact,
  isRefusal: (failure: Failure) => boolean,
  onTrying: (requests: number) => void,
): Promise<{ finding: Finding; signer: Signer | null }> {
  const ways = await otherWays(contact.service);
  if (ways === null) {
    return {
      finding: skippedFinding(name, 'a signer module has no variants to try'),
      signer: null,
    };
  }
  onTrying(ways.length);
  for (const { way, signer } of ways) {
    const { failure } = await askCoinsOnce(contact, signer);
    if (failure === null) {
      const works = settingsOf(way, contact.service);
      const seen = `the service accepts ${works}; the checks below use it`;
      return { finding: warningFinding(name, seen, `set ${works}`), signer };
    }
    if (!isRefusal(failure)) {
      const seen = `stopped at ${wayWords(way)}: ${failure.message}`;
      return { finding: badFinding(name, seen, 'run the command again'), signer: null };
    }
  }
  return { finding: refusedFinding(ways.map(({ way }) => way)), signer: null };
}

function refusedFinding(ways: readonly SigningWay[]): Finding {
  const recipes = [...new Set(ways.map(({ recipe }) => recipe))].join(', ');
  const seen = `refused, too: all ${ways.length} other ways to sign with ${recipes}, in every hash and encoding`;
  const cure = `the secret or the key does not match the service, or no recipe does: ${Object.keys(signingRecipes).join(', ')}; docs/signing.md explains how to write a signer`;
  return badFinding(name, seen, cure);
}

/** Returns the settings of a way, only those that differ from the present ones. */
function settingsOf({ recipe, hash, encoding }: SigningWay, settings: ServiceSettings): string {
  const isOwn = recipe === settings.signer;
  if (!isOwn && hash === null && encoding === null)
    return `WALLET_SIGNER=${recipe}, without hash and encoding`;
  const own = signingRecipes[recipe];
  const variant = `WALLET_SIGN_HASH=${hash ?? own.hash} and WALLET_SIGN_ENCODING=${encoding ?? own.encoding}`;
  return isOwn ? variant : `WALLET_SIGNER=${recipe}, ${variant}`;
}
