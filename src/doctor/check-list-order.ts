import type { Settings } from '../config/settings.ts';
import type { ListOrder, TransactionType } from '../kernel/vocabulary.ts';
import { badFinding, type Finding, okFinding, warningFinding } from './finding.ts';
import type { TransactionPage } from './read-samples.ts';

type SeenOrder = ListOrder | null;

/** Compares the order of a list's first page, by the times of its rows, with WALLET_LIST_ORDER. */
export function checkListOrder(
  type: TransactionType,
  page: TransactionPage,
  setting: Settings['lists']['order'],
): Finding {
  const name = `list-order-${type}`;
  const order = orderOf(page);
  const secondsAsTimes = countSecondsAsTimes(page);
  if (secondsAsTimes > 0) {
    return warningFinding(
      name,
      `the times of ${secondsAsTimes} of ${page.listed} rows look like seconds, not the milliseconds of the service's document`,
      'ask the operator of the service to send milliseconds; until then the ledger stores these rows without a time, and `wallet-ledger rejects` lists them',
    );
  }
  if (order === null) {
    return warningFinding(
      name,
      'too few rows with different times for this check',
      'run the command again later',
    );
  }
  const seen = `the first ${page.listed} rows are ${order}; WALLET_LIST_ORDER=${setting}`;
  // Reading a list as unordered is slow and correct for any order, so it is only a warning.
  if (setting === 'auto' || setting === order) return okFinding(name, seen);
  if (setting === 'unordered')
    return warningFinding(name, seen, 'set WALLET_LIST_ORDER=auto: it is faster');
  return badFinding(name, seen, `set WALLET_LIST_ORDER to auto or ${order}`);
}

function orderOf({ records }: TransactionPage): SeenOrder {
  const times = records.flatMap(({ occurredAt }) => occurredAt ?? []);
  if (new Set(times).size < 3) return null;
  const steps = times.slice(1).map((time, index) => time - (times[index] ?? time));
  if (steps.every((step) => step <= 0)) return 'newest-first';
  return steps.every((step) => step >= 0) ? 'oldest-first' : 'unordered';
}

/** Unix seconds since 1973: nine or ten digits; milliseconds have twelve or more. */
const secondsAsTime = /"time"\s*:\s*"?\d{9,10}(\.\d*)?"?\s*[,}]/;

function countSecondsAsTimes({ rejects }: TransactionPage): number {
  return rejects.filter(({ field, payload }) => field === 'time' && secondsAsTime.test(payload))
    .length;
}
