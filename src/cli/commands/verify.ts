import { countWords } from '../../kernel/count-words.ts';
import type { LedgerError } from '../../kernel/errors.ts';
import { redactValues } from '../../kernel/redact.ts';
import {
  type RefusedDetails,
  readRefusedDetails,
} from '../../ledger/transactions/refused-details.ts';
import { printableText } from '../../service/decoding/printable-text.ts';
import { type Drift, driftCount, isUnequal, leftCount } from '../../sync/checks/drift.ts';
import { verifyLedger } from '../../sync/checks/verify-ledger.ts';
import { type CommandContext, forWallet } from '../context/command-context.ts';
import { composeSync } from '../context/compose-sync.ts';
import { keepStates } from '../context/open-ledger.ts';
import { jsonDocument } from '../output/json-document.ts';
import { refusedDetailsWords } from '../output/refused-details-words.ts';
import { createProgress } from '../progress/create-progress.ts';

const namedMax = 10;
const valueMax = 80;

/**
 * Runs `wallet-ledger verify`. Resolves to 0 when ledger and service are equal, at the latest after the repair; 3 when
 * they differ, when values could not be read, when the end of a list is unknown, or when the service counts rows that
 * it did not show and no pass has accepted as a wrong total. Throws the first failure of a part that the service did
 * not answer, after the findings of the others were written.
 */
export async function verify(
  context: CommandContext,
  options: { repair?: boolean; json?: boolean },
): Promise<number> {
  const isRepair = options.repair ?? false;
  const failures: Failure[] = [];
  const { refused, ...found } = await withProgress(context, isRepair, failures);
  const drifts = redactValues(found.drifts, context.redact);
  const failed = redactValues(
    failures.map(({ name, error }) => ({ name, error: error.message })),
    context.redact,
  );
  process.stdout.write(
    options.json
      ? toJson(drifts, failed)
      : [...drifts.map(toText), ...failed.map(failedLine)].join(''),
  );
  writeCures(context, drifts, isRepair);
  if (refused) process.stderr.write(`wallet-ledger: details: ${refusedDetailsWords(refused)}\n`);
  const [first] = failures;
  if (first) throw first.error;
  return drifts.some(isUnequal) ? 3 : 0;
}

/** Prints a summary of the differences, and what to do. */
function writeCures(context: CommandContext, drifts: Drift[], isRepair: boolean): void {
  const unread = drifts.reduce((sum, { unreadable }) => sum + unreadable.length, 0);
  const left = drifts.reduce((sum, drift) => sum + leftCount(drift), -unread);
  if (left > 0) {
    const repairable = isRepair
      ? 0
      : drifts.reduce((sum, drift) => sum + repairableCount(drift), 0);
    const cure = repairable > 0 ? cureByRepair(repairable, left) : cureOf(drifts);
    process.stderr.write(
      forWallet(
        context.settings,
        `wallet-ledger: ${left === 1 ? '1 row differs' : `${left} rows differ`} from the service; ${cure}\n`,
      ),
    );
  }
  if (unread > 0)
    process.stderr.write(
      `wallet-ledger: ${unread === 1 ? '1 row has' : `${unread} rows have`} values that could not be read, so the ledger keeps its own. Ask the operator of the service\n`,
    );
  const uncertain = drifts.filter(({ unaccepted }) => unaccepted > 0).map(({ name }) => name);
  if (uncertain.length > 0)
    process.stderr.write(
      `wallet-ledger: ${uncertain.join(', ')}: the service counts rows that its list did not show. Run \`wallet-ledger sync\`, which reads the list again and finds if the total is wrong\n`,
    );
  const unended = drifts.filter(({ isEndRefused }) => isEndRefused).map(({ name }) => name);
  if (unended.length > 0)
    process.stderr.write(
      `wallet-ledger: ${unended.join(', ')}: the service refused the page where the list may end; rows behind it, if any, were not compared. Ask the operator of the service\n`,
    );
}

function cureOf(drifts: Drift[]): string {
  return drifts.some(({ name, extra }) => isAddressList(name) && extra.length > 0)
    ? 'the service does not list addresses that the ledger has: ask the operator of the service'
    : 'see the lines above';
}

function cureByRepair(repairable: number, left: number): string {
  const repair = 'run `wallet-ledger verify --repair`';
  if (repairable >= left) return repair;
  return `${repair}, which can repair ${repairable} of them; see the lines above for the others, and \`wallet-ledger rejects\` for those that cannot be stored`;
}

/**
 * Counts the rows that a repair can make equal. It marks extra transactions as unlisted; addresses have no such mark. A
 * detail that the service refuses is no different then.
 */
function repairableCount({ name, missing, different, extra }: Drift): number {
  if (name === 'details') return 0;
  const cured = isAddressList(name) ? 0 : extra.length;
  return missing.length + different.length + cured;
}

const isAddressList = (name: string) => name.startsWith('addresses:');

/** A part that could not be compared, because the service did not answer it. */
type Failure = { name: string; error: LedgerError };

async function withProgress(
  context: CommandContext,
  isRepair: boolean,
  failures: Failure[],
): Promise<{ drifts: Drift[]; refused: RefusedDetails | null }> {
  const progress = createProgress(context.screen);
  try {
    const { sync } = await composeSync(context, {
      ...progress.observers,
      isOnlyLooking: !isRepair,
      isSchemaKept: true,
    });
    // In a ledger that was only migrated the final states are not set, and the rows that are written would not become
    // final.
    if (isRepair) await keepStates(sync.ledger, context);
    const { signal } = context.shutdown;
    const onFailure = (name: string, error: LedgerError) => void failures.push({ name, error });
    const { onProgress } = progress;
    const drifts = await verifyLedger(sync, { signal, isRepair, onProgress, onFailure });
    const isLacking = drifts.some(({ name }) => name === 'details');
    return { drifts, refused: isLacking ? await readRefusedDetails(sync.ledger.db) : null };
  } finally {
    progress.stop();
  }
}

type FailedPart = { name: string; error: string };

function toJson(drifts: Drift[], failed: FailedPart[]): string {
  const streams = drifts.map(({ repaired: _, arrivals: __, unaccepted: ___, ...shown }) => shown);
  const repaired = drifts.reduce((sum, drift) => sum + drift.repaired, 0);
  return jsonDocument({ streams, repaired, failed });
}

function failedLine({ name, error }: FailedPart): string {
  return `${name}: not compared: ${printableText(error)}\n`;
}

function toText(drift: Drift): string {
  const { name, compared, missing, different, moved, extra, unmet, unshown, repaired } = drift;
  const { unstorable, unreadable, onPageZero } = drift;
  const unseen =
    unmet.length > 0 ? `, ${unmet.length} that the list did not show while it was read` : '';
  const lacked =
    unstorable > 0 ? `, ${unstorable} that cannot be stored (wallet-ledger rejects shows why)` : '';
  const unread =
    unreadable.length > 0
      ? `, ${unreadable.length} with values that could not be read (wallet-ledger rejects shows why)`
      : '';
  const early = onPageZero > 0 ? `, ${onPageZero} that only page 0 shows` : '';
  const moving = moved.length > 0 ? `, ${movedWords(moved.length)}` : '';
  const verdict =
    driftCount(drift) === 0
      ? verdictOfEqual(drift)
      : `${missing.length} missing, ${different.length} different, ${extra.length} extra${unseen}${lacked}${unread}${early}${moving}${repaired > 0 ? `, ${repaired} repaired` : ''}`;
  const lines = [
    `${name}: ${countWords(compared)} compared, ${verdict}`,
    ...named('missing', missing),
    ...named('different', different.map(describeDifference)),
    ...named('not judged', moved.map(describeDifference)),
    ...named('extra', extra),
    ...named('not shown', unmet),
    ...named('could not be read', unreadable.map(describeUnreadable)),
    ...(unshown > 0 ? [unshownLine(unshown, onPageZero)] : []),
  ];
  return `${lines.join('\n')}\n`;
}

/** Returns the verdict on a list without a difference. Rows that were not read may differ. */
function verdictOfEqual({ moved, unshown, isEndRefused }: Drift): string {
  if (moved.length > 0) return `equal except ${movedWords(moved.length)}`;
  if (isEndRefused) return 'no difference up to the page that the service refused';
  return unshown > 0 ? 'equal to what the list shows' : 'equal';
}

function movedWords(count: number): string {
  return `${count} that may have moved since the ledger read ${count === 1 ? 'it' : 'them'}`;
}

function unshownLine(count: number, onPageZero: number): string {
  const [rows, which] = count === 1 ? ['row', 'It is'] : ['rows', 'They are'];
  if (onPageZero > 0)
    return `  the service counts ${countWords(count)} more ${rows} than its list shows from page 1 on, and page 0 shows some of them: it seems to number its pages from 0. Ask the operator of the service`;
  return `  the service counts ${countWords(count)} more ${rows} than its list shows. ${which} missing here, or its total is wrong; \`wallet-ledger doctor\` compares page sizes and parameters`;
}

function describeDifference({
  orderNo,
  fields,
  ledger,
  service,
}: Drift['different'][number]): string {
  const parts = fields.map((field) =>
    field in ledger ? `${field}: ${shown(ledger[field])}, not ${shown(service[field])}` : field,
  );
  return `${orderNo} (${parts.join('; ')})`;
}

function describeUnreadable({ orderNo, fields }: Drift['unreadable'][number]): string {
  return `${orderNo} (${fields.join(', ')})`;
}

function shown(value: string | null | undefined): string {
  if (value === null || value === undefined) return 'nothing';
  return value.length > valueMax ? `${value.slice(0, valueMax - 1)}…` : value;
}

function named(what: string, keys: string[]): string[] {
  if (keys.length === 0) return [];
  const more =
    keys.length > namedMax ? ` and ${keys.length - namedMax} more (--json names all)` : '';
  return [`  ${what}: ${keys.slice(0, namedMax).map(printableText).join(', ')}${more}`];
}
