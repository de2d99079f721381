import { countWords } from '../../kernel/count-words.ts';
import { redactValues } from '../../kernel/redact.ts';
import {
  type RefusedDetails,
  readRefusedDetails,
} from '../../ledger/transactions/refused-details.ts';
import { printableText } from '../../service/decoding/printable-text.ts';
import { type Drift, driftCount, leftCount } from '../../sync/checks/drift.ts';
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
 * they differ, or when the end of a list is unknown.
 */
export async function verify(
  context: CommandContext,
  options: { repair?: boolean; json?: boolean },
): Promise<number> {
  const isRepair = options.repair ?? false;
  const { refused, ...found } = await withProgress(context, isRepair);
  const drifts = redactValues(found.drifts, context.redact);
  const left = drifts.reduce((sum, drift) => sum + leftCount(drift), 0);
  process.stdout.write(options.json ? toJson(drifts) : drifts.map(toText).join(''));
  if (left > 0) {
    const mayRepair = !isRepair && drifts.some(isRepairable);
    const cure = mayRepair ? 'run `wallet-ledger verify --repair`' : 'see the lines above';
    process.stderr.write(
      forWallet(
        context.settings,
        `wallet-ledger: ${left === 1 ? '1 row differs' : `${left} rows differ`} from the service; ${cure}\n`,
      ),
    );
  }
  if (refused) process.stderr.write(`wallet-ledger: details: ${refusedDetailsWords(refused)}\n`);
  const unended = drifts.filter(({ isEndRefused }) => isEndRefused).map(({ name }) => name);
  if (unended.length > 0)
    process.stderr.write(
      `wallet-ledger: ${unended.join(', ')}: the service refused the page where the list may end; rows behind it, if any, were not compared. Ask the operator of the service\n`,
    );
  return left > 0 || unended.length > 0 ? 3 : 0;
}

function isRepairable({ missing, different, extra }: Drift): boolean {
  return missing.length + different.length + extra.length > 0;
}

async function withProgress(
  context: CommandContext,
  isRepair: boolean,
): Promise<{ drifts: Drift[]; refused: RefusedDetails | null }> {
  const progress = createProgress(context.screen);
  try {
    const { sync } = await composeSync(context, {
      ...progress.observers,
      isOnlyLooking: !isRepair,
      isSchemaKept: true,
    });
    // Without the states the rows that are written would not be final in a ledger that was only migrated.
    if (isRepair) await keepStates(sync.ledger, context);
    const { signal } = context.shutdown;
    const drifts = await verifyLedger(sync, { signal, isRepair, onProgress: progress.onProgress });
    const isLacking = drifts.some(({ name }) => name === 'details');
    return { drifts, refused: isLacking ? await readRefusedDetails(sync.ledger.db) : null };
  } finally {
    progress.stop();
  }
}

function toJson(drifts: Drift[]): string {
  const streams = drifts.map(
    ({ name, compared, missing, different, extra, unmet, unshown, unstorable, isEndRefused }) => ({
      name,
      compared,
      missing,
      different,
      extra,
      unmet,
      unshown,
      unstorable,
      isEndRefused,
    }),
  );
  const repaired = drifts.reduce((sum, drift) => sum + drift.repaired, 0);
  return jsonDocument({ streams, repaired });
}

function toText(drift: Drift): string {
  const { name, compared, missing, different, extra, unmet, unshown, unstorable, repaired } = drift;
  const unseen =
    unmet.length > 0 ? `, ${unmet.length} that the list did not show while it was read` : '';
  const lacked =
    unstorable > 0 ? `, ${unstorable} that cannot be stored (wallet-ledger rejects shows why)` : '';
  const verdict =
    driftCount(drift) === 0
      ? verdictOfEqual(drift)
      : `${missing.length} missing, ${different.length} different, ${extra.length} extra${unseen}${lacked}${repaired > 0 ? `, ${repaired} repaired` : ''}`;
  const lines = [
    `${name}: ${countWords(compared)} compared, ${verdict}`,
    ...named('missing', missing),
    ...named('different', different.map(describeDifference)),
    ...named('extra', extra),
    ...named('not shown', unmet),
    ...(unshown > 0 ? [unshownLine(unshown)] : []),
  ];
  return `${lines.join('\n')}\n`;
}

/** Returns the verdict on a list without a difference. Rows that were not read may differ. */
function verdictOfEqual({ unshown, isEndRefused }: Drift): string {
  if (isEndRefused) return 'no difference up to the page that the service refused';
  return unshown > 0 ? 'equal to what the list shows' : 'equal';
}

function unshownLine(count: number): string {
  const [rows, which] = count === 1 ? ['row', 'It is'] : ['rows', 'They are'];
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
