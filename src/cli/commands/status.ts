import { styleText } from 'node:util';
import { systemClock } from '../../kernel/clock.ts';
import { redactValues } from '../../kernel/redact.ts';
import { isForbidden } from '../../ledger/connection/postgres-codes.ts';
import { readStatus } from '../../ledger/reports/read-status.ts';
import type { QueueAddress } from '../../queue/queue-backend.ts';
import { readQueueSnapshot } from '../../queue/queue-snapshot.ts';
import { boundReport } from '../../status/bound-report.ts';
import { listProblems } from '../../status/list-problems.ts';
import { type StatusReport, toStatusJson } from '../../status/status-report.ts';
import type { CommandContext } from '../command-context.ts';
import { openExistingLedger } from '../open-existing-ledger.ts';
import { printStatus } from '../status-view/print-status.ts';

const problemExitCode = 3;

/**
 * Runs `wallet-ledger status`: prints a text view or one JSON document. With `check`, resolves to 3 while a problem
 * exists.
 */
export async function status(
  context: CommandContext,
  options: { json?: boolean; check?: boolean },
): Promise<number> {
  const { ledger, queueAddress } = await openExistingLedger(context);
  const read = {
    ...(await readStatus(ledger.db, context.settings.pools.chains)),
    ...(await readQueue(context, queueAddress)),
  };
  const report = redactValues(boundReport(read), context.redact);
  process.stdout.write(options.json ? toStatusJson(report) : printStatus(report, terminal()));
  return options.check && listProblems(report).length > 0 ? problemExitCode : 0;
}

async function readQueue(
  { settings, log }: CommandContext,
  backend: QueueAddress,
): Promise<Pick<StatusReport, 'queue' | 'isQueueHidden'>> {
  const { prefix } = settings.queue;
  try {
    return { queue: await readQueueSnapshot({ backend, prefix, log, clock: systemClock }) };
  } catch (error) {
    if (isForbidden(error)) return { queue: null, isQueueHidden: true };
    log.warn({ error }, 'the queue does not answer');
    return { queue: null };
  }
}

/** Follows Node's rules for colour: support by the terminal, NO_COLOR, FORCE_COLOR. */
function terminal(): { useColor: boolean; columns: number | undefined } {
  const useColor = styleText('bold', ' ', { stream: process.stdout }) !== ' ';
  return { useColor, columns: process.stdout.columns };
}
