import { LedgerError, toError } from '../kernel/errors.ts';
import { databaseError } from '../ledger/connection/connect-ledger.ts';

export type Verdict = 'good' | 'warning' | 'bad';

/** What one check saw, and what to do about it: one line each. `cure` is '' where nothing is to be done. */
export type Finding = { name: string; verdict: Verdict; seen: string; cure: string };

export function okFinding(name: string, seen: string): Finding {
  return { name, verdict: 'good', seen: oneLine(seen), cure: '' };
}

export function warningFinding(name: string, seen: string, cure: string): Finding {
  return { name, verdict: 'warning', seen: oneLine(seen), cure: oneLine(cure) };
}

export function badFinding(name: string, seen: string, cure: string): Finding {
  return { name, verdict: 'bad', seen: oneLine(seen), cure: oneLine(cure) };
}

/** A check that could not be made, for a reason that another finding tells. */
export function skippedFinding(name: string, reason: string): Finding {
  return warningFinding(name, `skipped: ${reason}`, 'cure that first, then run the command again');
}

/** The findings of a check; where it fails, its failure as a finding: no check stops another. */
export async function guardedFindings(
  name: string,
  check: () => Promise<Finding[]> | Finding[],
): Promise<Finding[]> {
  try {
    return await check();
  } catch (thrown) {
    return [failedFinding(name, thrown)];
  }
}

/** A failure as a finding: what went wrong and what its kind of error asks for. */
export function failedFinding(name: string, thrown: unknown): Finding {
  const error = databaseError(toError(thrown));
  const cure = error instanceof LedgerError ? error.cure : 'set LOG_LEVEL=debug and try again';
  return badFinding(name, error.message, cure);
}

/** Parts of it may be the service's own words: nothing in them may move a terminal's cursor. */
function oneLine(text: string): string {
  return text.replaceAll(/[\p{C}\s]+/gu, ' ').trim();
}
