import { LedgerError } from '../../kernel/errors.ts';
import type { Signer } from '../../service/signing/signer.ts';
import { findKeyMistake } from '../../service/signing/signing-key.ts';
import type { Failure } from '../../service/transport/judge-answer.ts';
import { signedEndpoint } from '../ask-coins.ts';
import { type Credentials, fittingWays, type SigningWay, wayWords } from '../signing-ways.ts';
import type { ServiceAsker } from './ask-service.ts';

export type FoundSigner = { way: SigningWay; signer: Signer; coins: unknown; tried: number };

/**
 * Requests for the signature; the rest of the 40 is needed for the names. They suffice for every way of a bare private
 * key.
 */
const triesMax = 28;

/**
 * Tries the ways to sign that fit the credentials, the likeliest first, until the service accepts one. Throws
 * LedgerError `settings` if no recipe fits, `service-authentication` if none is accepted, `service-unreachable` if the
 * service fails on each of them.
 */
export async function findSigner(
  asker: ServiceAsker,
  credentials: Credentials,
): Promise<FoundSigner> {
  const ways = await fittingWays(credentials);
  if (ways.length === 0) {
    throw noFittingWay(credentials);
  }
  const refusals: Failure[] = [];
  const tried = ways.slice(0, triesMax);
  for (const [index, { way, signer }] of tried.entries()) {
    const answer = await asker.ask(signer, signedEndpoint);
    if ('data' in answer) return { way, signer, coins: answer.data, tried: index + 1 };
    if (answer.refusal.isNotFound) throw notFound(answer.refusal);
    refusals.push(answer.refusal);
  }
  throw refusalOf(
    refusals,
    ways.slice(triesMax).map(({ way }) => way),
  );
}

/** A shared secret fits any text with a key, so either the private key cannot be used, or there is no key. */
function noFittingWay({ apiSecret }: Credentials): LedgerError {
  const mistake =
    findKeyMistake(apiSecret) ?? 'it is a private key of another form than the API key';
  return new LedgerError(
    'settings',
    `no signing recipe fits the secret (WALLET_API_SECRET): ${mistake}`,
    {
      cure: 'give a private key in hex, PEM or DER in hex; a shared secret needs its key, by --api-key or in WALLET_API_KEY',
    },
  );
}

/** A path that does not exist is not found with any other signature either. */
function notFound({ message }: Failure): LedgerError {
  return new LedgerError('settings', `the service has no ${signedEndpoint}: ${message}`, {
    cure: 'check the base URL: the address of the service itself, with its path if it has one, without /v1',
  });
}

function refusalOf(refusals: readonly Failure[], untried: readonly SigningWay[]): LedgerError {
  const more = untried.length === 0 ? '' : `; not tried: ${untried.map(wayWords).join(', ')}`;
  const next =
    untried.length === 0
      ? ''
      : '; with base URL, secret and key in the settings, `wallet-ledger doctor --try-variants` tries all ways';
  const isFailing = refusals.every(({ code }) => code === 'service-unreachable');
  const does = isFailing ? 'fails on' : 'refuses';
  const isUp = isFailing ? ', that the service is up' : '';
  return new LedgerError(
    isFailing ? 'service-unreachable' : 'service-authentication',
    `the service ${does} ${refusals.length} ways to sign; the last answer: ${refusals.at(-1)?.message}${more}`,
    { cure: `check base URL${isUp}, secret and key, and that the key is enabled${next}` },
  );
}
