import { styleText } from 'node:util';
import { toStatusJson } from '../../http/status-report.ts';
import { systemClock } from '../../kernel/clock.ts';
import { readStatus } from '../../ledger/read-status.ts';
import { readQueueSnapshot } from '../../queue/queue-snapshot.ts';
import type { CommandContext } from '../command-context.ts';
import { migrate, openLedger } from '../open-ledger.ts';
import { printStatus } from '../status-picture/print-status.ts';

/** `wallet-ledger status`: a picture for people, or one JSON document. */
export async function status(
  context: CommandContext,
  options: { json?: boolean },
): Promise<number> {
  const { settings, log } = context;
  const opened = await openLedger(context);
  await migrate(opened, context);
  const { ledger, queueAddress } = opened;
  const { prefix } = settings.queue;
  const queue = await readQueueSnapshot({
    backend: queueAddress,
    prefix,
    log,
    clock: systemClock,
  }).catch((error: unknown) => {
    log.warn({ error }, 'the queue does not answer');
    return null;
  });
  const report = { ...(await readStatus(ledger.db, settings.pools.chains)), queue };
  process.stdout.write(options.json ? toStatusJson(report) : printStatus(report, terminal()));
  return 0;
}

/** Node's own rules for colour: a terminal that can, NO_COLOR, FORCE_COLOR. */
function terminal(): { useColor: boolean; columns: number | undefined } {
  const useColor = styleText('bold', ' ', { stream: process.stdout }) !== ' ';
  return { useColor, columns: process.stdout.columns };
}
