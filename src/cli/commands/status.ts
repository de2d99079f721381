import { abortableSleep } from '../../kernel/abortable-sleep.ts';
import { systemClock } from '../../kernel/clock.ts';
import { toError } from '../../kernel/errors.ts';
import { redactValues } from '../../kernel/redact.ts';
import { databaseError } from '../../ledger/connection/database-error.ts';
import { isForbidden } from '../../ledger/connection/postgres-codes.ts';
import type { QueueAddress } from '../../queue/queue-backend.ts';
import { isQueueAbsent, readQueueSnapshot } from '../../queue/queue-snapshot.ts';
import { boundReport } from '../../status/bound-report.ts';
import { listProblems } from '../../status/list-problems.ts';
import { type StatusReport, toStatusJson } from '../../status/status-report.ts';
import type { WalletOption } from '../context/choose-wallet.ts';
import { type CommandContext, failureLine } from '../context/command-context.ts';
import { sayOtherWallet } from '../context/compare-wallet.ts';
import { openExistingLedger } from '../context/open-existing-ledger.ts';
import type { OpenedLedger } from '../context/open-ledger.ts';
import { untilReaderLeaves } from '../output/reader-left.ts';
import { wantsColor } from '../output/wants-color.ts';
import { readAllStatus } from '../read-all-status.ts';
import { printStatus } from '../status-view/print-status.ts';

const problemExitCode = 3;
const watchMs = 5_000;

/**
 * Runs `wallet-ledger status`: prints a text view or one JSON document, of all wallets or of the one that is named.
 * With `check`, resolves to 3 while a problem exists. With `watch`, prints the view again every 5 s until Ctrl-C,
 * or until the reader of the output leaves.
 */
export async function status(
  context: CommandContext,
  options: { json?: boolean; check?: boolean; watch?: boolean } & WalletOption,
): Promise<number> {
  const opened = await openExistingLedger(context);
  const { walletNames } = context.settings;
  const shown = options.wallet === undefined ? walletNames : [options.wallet];
  await sayOtherWallet(context, opened.ledger, shown);
  const read = () => readReport(context, opened, options);
  if (options.watch) return await watch(context, read);
  const report = await read();
  process.stdout.write(options.json ? toStatusJson(report) : printStatus(report, terminal()));
  return options.check && listProblems(report).length > 0 ? problemExitCode : 0;
}

async function readReport(
  context: CommandContext,
  { ledger, queueAddress }: OpenedLedger,
  { wallet }: WalletOption,
): Promise<StatusReport> {
  const read = {
    ...(await readAllStatus(ledger, context.settings, wallet)),
    ...(await readQueue(context, queueAddress)),
  };
  return redactValues(boundReport(read), context.redact);
}

/** Moves the cursor to the first line, and clears what is below it. */
const clearScreen = '\x1b[H\x1b[J';

/** If reading fails, the error is shown in place of the view, and reading is tried again. */
async function watch(context: CommandContext, read: () => Promise<StatusReport>): Promise<number> {
  const signal = untilReaderLeaves(context.shutdown.signal);
  const { redact } = context;
  while (!signal.aborted) {
    const view = await read().then(
      (report) =>
        `${report.readAt.slice(0, 19).replace('T', ' ')} UTC\n\n${printStatus(report, terminal())}`,
      (error) => `${redact(failureLine(databaseError(toError(error)), false))}\n`,
    );
    if (signal.aborted) break;
    process.stdout.write(process.stdout.isTTY ? `${clearScreen}${view}` : `${view}\n`);
    await abortableSleep(watchMs, signal).catch(() => undefined);
  }
  return 0;
}

/** The queue may be in Redis, which only the daemon's settings name. */
const absentQueue =
  'not in this database; set REDIS_URL as the daemon has it, or run `wallet-ledger migrate`';

async function readQueue(
  { settings, log }: CommandContext,
  backend: QueueAddress,
): Promise<Pick<StatusReport, 'queue' | 'unseenQueue'>> {
  const { prefix } = settings.queue;
  try {
    return { queue: await readQueueSnapshot({ backend, prefix, log, clock: systemClock }) };
  } catch (error) {
    if (isForbidden(error)) return { queue: null, unseenQueue: 'not visible to this role' };
    if (isQueueAbsent(error)) return { queue: null, unseenQueue: absentQueue };
    log.warn({ error: toError(error) }, 'the queue does not answer');
    return { queue: null };
  }
}

function terminal(): { useColor: boolean; columns: number | undefined } {
  return { useColor: wantsColor(process.stdout), columns: process.stdout.columns };
}
