import { abortableSleep } from '../../kernel/abortable-sleep.ts';
import { toError } from '../../kernel/errors.ts';
import { redactValues } from '../../kernel/redact.ts';
import { keepListening } from '../../ledger/connection/keep-listening.ts';
import { eventsChannel } from '../../ledger/feed/feed-channels.ts';
import { createFeedReader, type FeedReader } from '../../ledger/feed/feed-reader.ts';
import { toJsonText } from '../../ledger/feed/json-text.ts';
import type { CommandContext } from '../context/command-context.ts';
import { sayOtherWallet } from '../context/compare-wallet.ts';
import { openExistingLedger } from '../context/open-existing-ledger.ts';
import { describeEvent } from '../output/describe-event.ts';
import { untilReaderLeaves } from '../output/reader-left.ts';

const pageMax = 100;
const retryMs = 1_000;

/**
 * Runs `wallet-ledger tail`: prints each event of the change feed from now on, one line each, until Ctrl-C or until the
 * reader of the output leaves.
 */
export async function tail(context: CommandContext, { json }: { json?: boolean }): Promise<number> {
  const { log, shutdown, redact } = context;
  const { ledger } = await openExistingLedger(context);
  await sayOtherWallet(context, ledger, context.settings.walletNames);
  const signal = untilReaderLeaves(shutdown.signal);
  const feed = createFeedReader(ledger);
  const read: FeedReader['read'] = async (after, max) =>
    redactValues(await feed.read(after, max), redact);
  const listening = keepListening({
    ledger,
    channels: { [eventsChannel]: feed.wake },
    log,
  });
  shutdown.add('notifications', () => listening.close());
  const over = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
  let position = await feed.head();
  process.stderr.write(`following the change feed behind event ${position}; Ctrl-C ends\n`);
  while (!signal.aborted) {
    const wake = feed.nextWake();
    try {
      const next = await printNext(read, position, json ?? false);
      if (next === position) await Promise.race([wake, over]);
      position = next;
    } catch (error) {
      if (signal.aborted) break;
      log.warn({ error: toError(error) }, 'the change feed cannot be read; retrying');
      await abortableSleep(retryMs, signal).catch(() => undefined);
    }
  }
  return 0;
}

/** Prints the events after the position. Returns the position of the last one. */
async function printNext(
  read: FeedReader['read'],
  position: number,
  json: boolean,
): Promise<number> {
  const page = await read(position, pageMax);
  if (page.kind === 'deleted') return page.oldest - 1;
  if (page.kind === 'ahead') {
    process.stderr.write(
      `the feed ends at event ${page.head} again: the database went back to an earlier state\n`,
    );
    return page.head;
  }
  const lines = page.events.map((event) => `${json ? toJsonText(event) : describeEvent(event)}\n`);
  if (lines.length > 0) await print(lines.join(''));
  return page.events.at(-1)?.seq ?? position;
}

/** Waits until the output has taken the text. A failure to write arrives at the stream's listener. */
async function print(text: string): Promise<void> {
  await new Promise<void>((resolve) => process.stdout.write(text, () => resolve()));
}
