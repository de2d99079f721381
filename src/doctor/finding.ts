import { type ErrorCode, LedgerError, toError } from '../kernel/errors.ts';
import { databaseError } from '../ledger/connection/database-error.ts';

type Verdict = 'good' | 'warning' | 'bad';

/**
 * Result of one check and its cure, one line each. `cure` is '' if no action is needed. `error` is the code of the
 * error that ended the check, or `settings` where the cure is a setting.
 */
export type Finding = {
  name: string;
  verdict: Verdict;
  seen: string;
  cure: string;
  error?: ErrorCode;
};

export function okFinding(name: string, seen: string): Finding {
  return { name, verdict: 'good', seen: oneLine(seen), cure: '' };
}

export function warningFinding(name: string, seen: string, cure: string): Finding {
  return { name, verdict: 'warning', seen: oneLine(seen), cure: oneLine(cure) };
}

export function badFinding(name: string, seen: string, cure: string): Finding {
  return { name, verdict: 'bad', seen: oneLine(seen), cure: oneLine(cure) };
}

/** Returns the finding for a skipped check; another finding has the reason. */
export function skippedFinding(name: string, reason: string): Finding {
  return warningFinding(
    name,
    `skipped: ${reason}`,
    'correct that first, then run the command again',
  );
}

/** Returns the findings of a check. A thrown error becomes a finding, so that the other checks still run. */
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

/** Converts an error into a finding with its message and its cure. */
export function failedFinding(name: string, thrown: unknown): Finding {
  const error = databaseError(toError(thrown));
  const cure = error instanceof LedgerError ? error.cure : 'set LOG_LEVEL=debug and try again';
  const finding = badFinding(name, error.message, cure);
  return error instanceof LedgerError ? { ...finding, error: error.code } : finding;
}

/** Removes control characters: text from the service must not move a terminal's cursor. */
function oneLine(text: string): string {
  return text.replaceAll(/[\p{C}\s]+/gu, ' ').trim();
}
