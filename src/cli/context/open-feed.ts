import type { Ledger } from '../../ledger/connection/connect-ledger.ts';
import { keepListening } from '../../ledger/connection/keep-listening.ts';
import { eventsChannel, outboxChannel, sequencerLock } from '../../ledger/feed/feed-channels.ts';
import { createFeedReader, type FeedReader } from '../../ledger/feed/feed-reader.ts';
import { keepSequencing } from '../../ledger/feed/keep-sequencing.ts';
import { watchProblems } from '../../ledger/feed/watch-problems.ts';
import { hintChannel } from '../../ledger/hint-store.ts';
import type { Problem } from '../../ledger/reports/ledger-status.ts';
import {
  deliverWebhooks,
  type WebhookOptions,
  type Webhooks,
} from '../../webhooks/deliver-webhooks.ts';
import type { CommandContext } from './command-context.ts';

/** The change feed of a daemon. */
type OpenedFeed = { reader: FeedReader; webhooks: Webhooks };

/**
 * Gives the events of the change feed their numbers until the shutdown, and listens for what other processes notify.
 * `onHint` is called when the database has hints; `findProblems` finds the problems that the database cannot see.
 * Returns a reader of the feed, and its webhooks, which send nothing before they are started.
 */
export async function openFeed(
  { log, shutdown, settings }: CommandContext,
  ledger: Ledger,
  {
    onHint,
    findProblems,
    ...forWebhooks
  }: { onHint: () => void; findProblems: () => Promise<Problem[]> } & Pick<
    WebhookOptions,
    'addJob' | 'onAttempt'
  >,
): Promise<OpenedFeed> {
  const receivers = settings.feed.webhooks;
  const webhooks = await deliverWebhooks({ ledger, receivers, log, ...forWebhooks });
  const reader = createFeedReader(ledger);
  const sequencer = keepSequencing(ledger, log);
  shutdown.add('change feed', () => sequencer.close());
  const problems = watchProblems(ledger, log, findProblems);
  shutdown.add('problems', () => problems.close());
  const listening = keepListening({
    ledger,
    channels: {
      [hintChannel]: onHint,
      [outboxChannel]: sequencer.wake,
      [eventsChannel]() {
        reader.wake();
        webhooks.wake();
      },
    },
    setUp: `select pg_advisory_lock_shared(${sequencerLock})`,
    log,
  });
  shutdown.add('notifications', () => listening.close());
  return { reader, webhooks };
}
