import type { Environment } from '../kernel/vocabulary.ts';
import type { Signer } from '../service/signing/signer.ts';
import type { Failure } from '../service/transport/judge-answer.ts';
import { askCoins, type Contact, isRefusal, signedEndpoint } from './ask-coins.ts';
import { checkClock } from './check-clock.ts';
import { badFinding, type Finding, failedFinding, okFinding, skippedFinding } from './finding.ts';
import { makeSigner, tryVariants } from './signing-variants.ts';

/** Findings, and the signer that the service accepts; null when it accepts none of those tried. */
export type SignatureCheck = { findings: Finding[]; signer: Signer | null };

/**
 * Checks that the service accepts a request signed by the settings. With `isTryingVariants`, tries other recipes,
 * hashes and encodings after a refusal.
 */
export async function checkSignature(
  contact: Contact,
  options: { env: Environment; isTryingVariants: boolean; onTrying(requests: number): void },
): Promise<SignatureCheck> {
  const { service } = contact;
  let signer: Signer;
  try {
    signer = await makeSigner(service, options.env);
  } catch (thrown) {
    return { findings: [failedFinding('signature', thrown)], signer: null };
  }
  const { failure, aheadMs } = await askCoins(contact, signer);
  const clock = checkClock('clock', aheadMs, "the service's");
  if (failure === null) {
    const seen = `a GET of ${signedEndpoint}, signed by ${service.signer}, is accepted`;
    return { findings: [okFinding('signature', seen), clock], signer };
  }
  const findings = [judge(failure, options.isTryingVariants), clock];
  if (!options.isTryingVariants) return { findings, signer: null };
  if (!isRefusal(failure)) {
    const reason = 'no answer shows if the service accepts the signature';
    return { findings: [...findings, skippedFinding('signing-variants', reason)], signer: null };
  }
  const tried = await tryVariants(contact, isRefusal, options.onTrying);
  return { findings: [...findings, tried.finding], signer: tried.signer };
}

function judge(failure: Failure, isTryingVariants: boolean): Finding {
  if (!isRefusal(failure)) {
    return badFinding(
      'signature',
      `a signed request got no usable answer: ${failure.message}`,
      'check that WALLET_BASE_URL is the service itself, without /v1, and that the service is up',
    );
  }
  const tryOthers = isTryingVariants ? '' : ' try `wallet-ledger doctor --try-variants`;';
  return badFinding(
    'signature',
    `the service refused a signed request: ${failure.message}`,
    `check WALLET_API_SECRET, WALLET_API_KEY and WALLET_SIGNER;${tryOthers} compare \`wallet-ledger doctor --sign GET ${signedEndpoint}\` with the operator of the service`,
  );
}
