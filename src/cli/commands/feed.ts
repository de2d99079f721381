import { LedgerError } from '../../kernel/errors.ts';
import type { Ledger } from '../../ledger/connection/connect-ledger.ts';
import {
  type FeedConsumer,
  isFailing,
  readFeedConsumers,
} from '../../ledger/feed/consumer-report.ts';
import { createFeedReader } from '../../ledger/feed/feed-reader.ts';
import {
  listReceivers,
  pauseReceiver,
  replayEvents,
  resumeReceiver,
} from '../../ledger/feed/webhook-store.ts';
import { printableText } from '../../service/decoding/printable-text.ts';
import { consumerWords } from '../../status/consumer-words.ts';
import type { CommandContext } from '../context/command-context.ts';
import { refuseOtherWallet, sayOtherWallet } from '../context/compare-wallet.ts';
import { openExistingLedger } from '../context/open-existing-ledger.ts';
import { jsonDocument } from '../output/json-document.ts';

/**
 * Runs `wallet-ledger feed list`: prints the consumers and webhooks of the change feed. Resolves to 3 while events do
 * not reach one of them.
 */
export async function feedList(
  context: CommandContext,
  { json }: { json?: boolean },
): Promise<number> {
  const { ledger } = await openExistingLedger(context);
  await sayOtherWallet(context, ledger, context.settings.walletNames);
  const feed = await readFeedConsumers(ledger.db);
  process.stdout.write(json ? jsonDocument({ feed }) : feed.map(line).join(''));
  if (feed.length === 0 && !json)
    say(
      'the change feed has no consumer and no webhook: docs/change-feed.md explains SQL, HTTP and webhooks',
    );
  return feed.some(isFailing) ? 3 : 0;
}

function line(consumer: FeedConsumer): string {
  const { kind, name } = consumer;
  return `${kind} ${printableText(name)}: ${printableText(consumerWords(consumer))}\n`;
}

/** Runs `wallet-ledger feed pause`. */
export async function feedPause(context: CommandContext, name: string): Promise<number> {
  const { db } = await openReceiver(context, name);
  await pauseReceiver(db, name);
  say(
    `nothing more is sent to ${name}; its events wait, and are deleted when they are 30 days old`,
  );
  return 0;
}

/** Runs `wallet-ledger feed resume`. */
export async function feedResume(context: CommandContext, name: string): Promise<number> {
  const { db } = await openReceiver(context, name);
  await resumeReceiver(db, name);
  say(
    `${name} gets events again${await whenSet(db, name)}, from the first one that it has not accepted`,
  );
  return 0;
}

/** Runs `wallet-ledger feed replay`: sends an event, and all later ones, again. */
export async function feedReplay(
  context: CommandContext,
  name: string,
  { from }: { from: number },
): Promise<number> {
  const ledger = await openReceiver(context, name);
  const page = await createFeedReader(ledger).read(from - 1, 1);
  if (page.kind === 'deleted')
    throw new LedgerError('usage', `event ${from} has been deleted`, {
      cure: `the first event that the feed still holds is ${page.oldest}`,
    });
  if (page.kind === 'ahead')
    throw new LedgerError('usage', `the feed has no event ${from}`, {
      cure: `its latest event is ${page.head}`,
    });
  await replayEvents(ledger, name, from);
  say(`${name} gets event ${from}, and all behind it, again${await whenSet(ledger.db, name)}`);
  return 0;
}

/** Says that nothing is sent until a daemon has the webhook in its settings again; empty if one has it. */
async function whenSet(db: Ledger['db'], receiver: string): Promise<string> {
  const feed = await readFeedConsumers(db);
  const found = feed.find(({ kind, name }) => kind === 'webhook' && name === receiver);
  return found?.state === 'unset' ? ' when a daemon has it in FEED_WEBHOOKS' : '';
}

/** Opens the ledger. Throws a LedgerError `usage` that lists the webhooks if none has this name. */
async function openReceiver(context: CommandContext, name: string): Promise<Ledger> {
  const { ledger } = await openExistingLedger(context);
  // A webhook gets the events of all wallets.
  await refuseOtherWallet(context, ledger, context.settings.walletNames);
  const names = await listReceivers(ledger.db);
  if (names.includes(name)) return ledger;
  const feed = await readFeedConsumers(ledger.db);
  const isConsumer = feed.some((each) => each.name === name);
  throw new LedgerError(
    'usage',
    isConsumer
      ? `${name} reads the feed itself, with ledger.next_events; only webhooks are paused and replayed`
      : `there is no webhook ${JSON.stringify(name)}`,
    {
      cure:
        names.length === 0
          ? 'set FEED_WEBHOOKS and start a daemon; there is none yet'
          : `there ${names.length === 1 ? 'is' : 'are'} ${names.join(', ')}`,
    },
  );
}

function say(text: string): void {
  process.stderr.write(`wallet-ledger: ${text}\n`);
}
