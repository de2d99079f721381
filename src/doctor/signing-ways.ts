import { LedgerError } from '../kernel/errors.ts';
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

/** A way to sign; `hash` and `encoding` are null if they are the recipe's own. */
export type SigningWay = {
  recipe: SigningRecipeName;
  hash: SigningHash | null;
  encoding: SignatureEncoding | null;
};

export type Credentials = { apiSecret: string; apiKey: string | null };
export type FittingWay = { way: SigningWay; signer: Signer };

const recipeNames = Object.keys(signingRecipes).filter(isSigningRecipeName);

/**
 * Returns the ways to sign that fit the credentials, the likeliest first. Every recipe with its own hash and encoding
 * comes first, then the variants of the recipe `likely`, then those of the others, nearest variants first. If the key
 * belongs to a private key, the recipes of shared secrets come last.
 */
export async function fittingWays(
  { apiSecret, apiKey }: Credentials,
  likely?: SigningRecipeName,
): Promise<FittingWay[]> {
  const fitting: FittingWay[] = [];
  for (const way of waysByLikelihood(likely)) {
    const signer = await signerOf(way, { apiSecret, apiKey });
    if (signer) fitting.push({ way, signer });
  }
  if (apiKey === null || !fitting.some(({ way }) => hasPrivateKey(way))) return fitting;
  return [
    ...fitting.filter(({ way }) => hasPrivateKey(way)),
    ...fitting.filter(({ way }) => !hasPrivateKey(way)),
  ];
}

function hasPrivateKey({ recipe }: SigningWay): boolean {
  return signingRecipes[recipe].curves.length > 0;
}

function waysByLikelihood(likely?: SigningRecipeName): SigningWay[] {
  const own = recipeNames.map((recipe): SigningWay => ({ recipe, hash: null, encoding: null }));
  const others = recipeNames.filter((recipe) => recipe !== likely).map(variantsOf);
  const rounds = Math.max(...others.map((each) => each.length));
  const byRound = Array.from({ length: rounds }, (_, round) =>
    others.flatMap((each) => each[round] ?? []),
  );
  return [...own, ...(likely ? variantsOf(likely) : []), ...byRound.flat()];
}

/** Lists the hashes and encodings that a recipe allows besides its own, the nearest first. */
function variantsOf(recipe: SigningRecipeName): SigningWay[] {
  const { hash, ...own }: SigningRecipe = signingRecipes[recipe];
  const otherHash = hash === 'sha256' ? 'sha256d' : 'sha256';
  return nearestEncodings({ hash, ...own })
    .flatMap((encoding) => [
      { recipe, hash, encoding },
      { recipe, hash: otherHash, encoding } as const,
    ])
    .slice(1);
}

/** Lists the recipe's own encoding, the other form in the same alphabet, then the other alphabet. DER: ECDSA only. */
function nearestEncodings({ encoding, curves }: SigningRecipe): SignatureEncoding[] {
  const [form, alphabet] = encoding.split('-') as ['der' | 'raw', 'hex' | 'base64'];
  const otherForm = form === 'der' ? 'raw' : 'der';
  const otherAlphabet = alphabet === 'hex' ? 'base64' : 'hex';
  const isEcdsa = curves.some((curve) => curve !== 'ed25519');
  const all: SignatureEncoding[] = [
    encoding,
    `${otherForm}-${alphabet}`,
    `${form}-${otherAlphabet}`,
    `${otherForm}-${otherAlphabet}`,
  ];
  return all.filter((each) => isEcdsa || each.startsWith('raw-'));
}

/** Returns null if the secret or the key is not one of this recipe. */
async function signerOf(
  { recipe, hash, encoding }: SigningWay,
  { apiSecret, apiKey }: Credentials,
): Promise<Signer | null> {
  try {
    return await createSigner({
      signer: recipe,
      apiSecret,
      apiKey: apiKey ?? undefined,
      hash: hash ?? undefined,
      encoding: encoding ?? undefined,
      env: {},
    });
  } catch (error) {
    if (error instanceof LedgerError) return null;
    throw error;
  }
}

/** Returns true if both sign in the same way: a hash or an encoding that is null is the recipe's own. */
export function isSameWay(one: SigningWay, other: SigningWay): boolean {
  const whole = ({ recipe, hash, encoding }: SigningWay) => {
    const own = signingRecipes[recipe];
    return [recipe, hash ?? own.hash, encoding ?? own.encoding].join(' ');
  };
  return whole(one) === whole(other);
}

/** `body-secp256k1`, or `body-secp256k1 with sha256 and raw-hex`. */
export function wayWords({ recipe, hash, encoding }: SigningWay): string {
  const variant = [hash, encoding].filter((each) => each !== null).join(' and ');
  return variant === '' ? recipe : `${recipe} with ${variant}`;
}
