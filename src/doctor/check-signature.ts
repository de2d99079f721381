import type { Clock } from '../kernel/clock.ts';
import type { Environment } from '../kernel/vocabulary.ts';
import type { LedgerDb } from '../ledger/connection/connect-ledger.ts';
import { readDatabaseTime } from '../ledger/connection/read-database-time.ts';
import type { Signer } from '../service/signing/signer.ts';
import type { Failure } from '../service/transport/judge-answer.ts';
import { askCoins, type Contact, isRefusal, signedEndpoint } from './ask-coins.ts';
import { checkServiceClock } from './check-clock.ts';
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
  options: {
    env: Environment;
    /** Null without a usable ledger. */
    db: LedgerDb | null;
    isTryingVariants: boolean;
    onTrying(requests: number): void;
  },
): Promise<SignatureCheck> {
  const { service } = contact;
  let signer: Signer;
  try {
    signer = await makeSigner(service, options.env);
  } catch (thrown) {
    return { findings: [failedFinding('signature', thrown)], signer: null };
  }
  const { failure, ...header } = await askCoins(contact, signer);
  const databaseAheadMs = await readAheadMs(options.db, contact.clock);
  const clock = checkServiceClock(header, databaseAheadMs, failure !== null && isRefusal(failure));
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

/** Returns the time by which the database's clock is ahead of this machine's; null if it is unknown. */
async function readAheadMs(db: LedgerDb | null, clock: Clock): Promise<number | null> {
  if (db === null) return null;
  return await readDatabaseTime(db).then(
    (time) => time - clock(),
    () => null,
  );
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
