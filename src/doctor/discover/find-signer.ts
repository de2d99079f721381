import { LedgerError } from '../../kernel/errors.ts';
import { createSigner } from '../../service/signing/create-signer.ts';
import type { Signer } from '../../service/signing/signer.ts';
import {
  type SignatureEncoding,
  type SigningHash,
  signingRecipes,
} from '../../service/signing/signing-recipes.ts';
import { signedEndpoint } from '../ask-coins.ts';
import { signingVariants } from '../signing-variants.ts';
import type { ServiceAsker } from './ask-service.ts';

export type Credentials = { apiSecret: string; apiKey: string | null };

/** A way to sign; `hash` and `encoding` are null if they are the recipe's own. */
export type SigningWay = {
  recipe: string;
  hash: SigningHash | null;
  encoding: SignatureEncoding | null;
};

export type FoundSigner = { way: SigningWay; signer: Signer; coins: unknown; tried: number };

/** The others of 40 requests are needed for the names. */
const triesMax = 24;

/**
 * Tries the ways to sign that fit the credentials until the service accepts one: every recipe first, then other hashes
 * and encodings. Throws LedgerError `settings` if no recipe fits, `service-authentication` if none is accepted.
 */
export async function findSigner(
  asker: ServiceAsker,
  credentials: Credentials,
): Promise<FoundSigner> {
  const ways = await fittingWays(credentials);
  if (ways.length === 0) {
    throw new LedgerError('settings', 'no signing recipe fits the secret and the key', {
      cure: 'check both: the secret is a private key in hex, PEM or DER, or a shared secret together with its key',
    });
  }
  let said = '';
  const tried = ways.slice(0, triesMax);
  for (const [index, { way, signer }] of tried.entries()) {
    const answer = await asker.ask(signer, signedEndpoint);
    if ('data' in answer) return { way, signer, coins: answer.data, tried: index + 1 };
    said = answer.refusal.message;
  }
  throw new LedgerError(
    'service-authentication',
    `the service refuses ${tried.length} ways to sign; the last answer: ${said}`,
    {
      cure: 'check base URL, secret and key, and that the key is enabled; with the API key given as well, fewer ways fit and more variants of them are tried',
    },
  );
}

type Fitting = { way: SigningWay; signer: Signer };

async function fittingWays({ apiSecret, apiKey }: Credentials): Promise<Fitting[]> {
  const recipes = Object.keys(signingRecipes) as (keyof typeof signingRecipes)[];
  const own = recipes.map((recipe): SigningWay => ({ recipe, hash: null, encoding: null }));
  const variants = recipes.map((recipe) =>
    signingVariants({ signer: recipe, signHash: null, signEncoding: null }).map(
      (variant): SigningWay => ({ recipe, ...variant }),
    ),
  );
  // The nearest variant of each recipe goes before the next of any.
  const rounds = Math.max(...variants.map((each) => each.length));
  const others = Array.from({ length: rounds }, (_, round) =>
    variants.flatMap((each) => each[round] ?? []),
  );
  const fitting: Fitting[] = [];
  for (const way of [...own, ...others.flat()]) {
    const signer = await signerOf(way, apiSecret, apiKey);
    if (signer) fitting.push({ way, signer });
  }
  return fitting;
}

/** Returns null if the secret or the key is not one of this recipe. */
async function signerOf(
  way: SigningWay,
  apiSecret: string,
  apiKey: string | null,
): Promise<Signer | null> {
  try {
    return await createSigner({
      signer: way.recipe,
      apiSecret,
      apiKey: apiKey ?? undefined,
      hash: way.hash ?? undefined,
      encoding: way.encoding ?? undefined,
      env: {},
    });
  } catch (error) {
    if (error instanceof LedgerError) return null;
    throw error;
  }
}
