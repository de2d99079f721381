import type { PlantedBug } from './planted-bug.ts';

/** Mistakes in the change feed. */
export const feedBugs: PlantedBug[] = [
  {
    id: 'event-of-an-open-transaction',
    promise: 'Each change once, in order',
    wrong: 'an event gets its number before an older transaction has ended',
    in: 'engine.sequence_events',
    find: 'o.xact >= pg_snapshot_xmin',
    put: 'o.xact < pg_snapshot_xmin',
    caughtBy:
      'events wait for a transaction that is open anywhere, which is named with its process',
  },
  {
    id: 'silence-under-one-snapshot',
    promise: 'Each change once, in order',
    wrong:
      'a consumer in a repeatable-read transaction gives no numbers, and gets no event without a daemon',
    in: 'engine.sequence_if_alone',
    find: 'IF EXISTS (SELECT FROM engine.outbox)',
    put: 'IF NOT has_one_snapshot AND EXISTS (SELECT FROM engine.outbox)',
    caughtBy: 'numbers that were given since its snapshot are an error that says what to do',
  },
  {
    id: 'numbers-left-to-a-daemon',
    promise: 'Each change once, in order',
    wrong: 'what a one-off command has written gets no number before a daemon runs',
    in: 'sequenceAtLast',
    find: 'await sequenceAll(db, signal);',
    put: 'if (signal.aborted) await sequenceAll(db, signal);',
    caughtBy:
      'what one-off commands write is on the feed without a daemon, and is counted while it waits',
  },
  {
    id: 'waiting-events-not-counted',
    promise: 'Each change once, in order',
    wrong: 'events without a number do not count as behind: a consumer seems to be up to date',
    in: 'ledger.feed_consumers',
    find: 'k.behind + (SELECT count(*) FROM engine.outbox)',
    put: 'k.behind',
    caughtBy:
      'events without a number count as not got, and make a consumer of yesterday a problem',
  },
  {
    id: 'old-events-first',
    promise: 'Each change once, in order',
    wrong: 'new events get no number until all old ones are deleted',
    in: 'keepSequencing',
    find: 'if (await pruneEvents(db)) worker.wake();\n      else ',
    put: 'while (await pruneEvents(db));\n      ',
    caughtBy: 'events get their numbers while old ones are deleted',
  },
  {
    id: 'webhook-redirect-accepted',
    promise: 'Webhooks',
    wrong: 'a redirect of a receiver counts as accepted',
    in: 'sendWebhook',
    find: 'status < 300',
    put: 'status < 400',
    caughtBy: '[S19] a redirect is not followed, and counts as refused',
  },
  {
    id: 'webhook-body-of-another',
    promise: 'Webhooks',
    wrong: 'the signature is made over another body than the one that is sent',
    in: 'post',
    find: 'signedHeaders(receiver.secrets, event.seq, body)',
    put: 'signedHeaders(receiver.secrets, event.seq, JSON.stringify(event))',
    caughtBy: 'each event arrives as the feed gives it, signed with each secret, under its number',
  },
  {
    id: 'webhook-first-secret-alone',
    promise: 'Webhooks',
    wrong: 'events are signed with the first secret only, while a receiver has another one already',
    in: 'signedHeaders',
    find: 'secrets.map(',
    put: 'secrets.slice(0, 1).map(',
    caughtBy: 'each event arrives as the feed gives it, signed with each secret, under its number',
  },
  {
    id: 'webhook-private-address',
    promise: 'Webhooks',
    wrong: 'a name may lead into a private network',
    in: 'pinAddress',
    find: 'family === 0 && !isPrivateAllowed',
    put: 'family === 4 && !isPrivateAllowed',
    caughtBy:
      '[S19] a name that leads into a private network is refused, unless its setting allows that',
  },
  {
    id: 'webhook-name-asked-again',
    promise: 'Webhooks',
    wrong: 'the connection resolves the name again after it was checked',
    in: 'post',
    find: 'lookup: pinned,',
    put: `lookup: (host, options, callback) =>
        void resolve(host).then((found) =>
          options.all ? callback(null, found) : pinned(host, options, callback)),`,
    caughtBy:
      '[S19] a name that leads into a private network is refused, unless its setting allows that',
  },
  {
    id: 'webhook-later-event-first',
    promise: 'Webhooks',
    wrong: 'a later event of a key is sent while the earlier one fails',
    in: 'engine.due_deliveries',
    find: 'o.seq < d.seq OR',
    put: 'false OR',
    caughtBy: 'a later event of a key waits for the earlier one, and other keys go on',
  },
  {
    id: 'webhook-replay-beside-delivery',
    promise: 'Webhooks',
    wrong: 'an event is sent while another one of its key is on its way',
    in: 'engine.due_deliveries',
    find: 'OR o.claimed_until > now()',
    put: '',
    caughtBy:
      'a replay sends events again from one of them on, in order, also while one is on its way',
  },
  {
    id: 'webhook-position-before-answer',
    promise: 'Webhooks',
    wrong: 'an event counts as accepted before the receiver has answered',
    in: 'createSender',
    find: 'const failure = await sendWebhook(',
    put: `await endDelivery(db, { receiver: receiver.name, seq, attempt: claimed.attempt }, null);
    const failure = await sendWebhook(`,
    caughtBy:
      'the position moves with the answer, and what a dead daemon was sending is sent again',
  },
  {
    id: 'webhook-gone-is-retried',
    promise: 'Webhooks',
    wrong: 'a receiver that is gone is sent to again',
    in: 'sendWebhook',
    find: 'status === 410',
    put: 'status === 404',
    caughtBy:
      '[Q18] 410 stops a receiver at once, with a problem; resumed, it gets everything since',
  },
  {
    id: 'webhook-given-up-silently',
    promise: 'Webhooks',
    wrong: 'a receiver that fails for 7 days is dropped without a problem',
    in: 'ledger.feed_problems',
    find: "c.state = 'stopped'",
    put: "c.state = 'gone'",
    caughtBy: '[Q18] after 7 days the receiver is stopped, and a problem stands',
  },
  {
    id: 'webhook-body-read',
    promise: 'Webhooks',
    wrong: 'an answer without an end is read to its end',
    in: 'post',
    find: 'answer.destroy(); sent.destroy();',
    put: 'answer.resume();',
    caughtBy: '[Q18] of an endless answer only the status is read',
  },
  {
    id: 'webhook-outage-outlasts-itself',
    promise: 'Webhooks',
    wrong: 'after an outage each event waits for its own pause of an hour',
    in: 'engine.end_delivery',
    find: 'd.failed_since > w.moved_at',
    put: 'd.failed_since < w.moved_at',
    caughtBy:
      '[Q18] a receiver that is down for a day gets everything in order, at once when it is up again; another one is not moved',
  },
  {
    id: 'webhook-events-pruned',
    promise: 'Webhooks',
    wrong: 'events are deleted that a receiver has not got',
    in: 'engine.prune_events',
    find: 'FROM ledger.feed_consumers c',
    put: 'FROM engine.consumers c',
    caughtBy:
      'events are kept for a receiver that has not got them, and their loss is not passed over',
  },
  {
    id: 'problems-of-a-kind-told-once',
    promise: 'Each change once, in order',
    wrong: 'of several problems of one kind the feed reports the oldest only',
    in: 'engine.note_problems',
    find: 'DISTINCT ON (p.wallet, p.name, p.severity, p.subject)',
    put: 'DISTINCT ON (p.wallet, p.name, p.severity)',
    also: [
      {
        in: 'engine.note_problems',
        find: 'ORDER BY p.wallet, p.name, p.severity, p.subject, p.since)',
        put: 'ORDER BY p.wallet, p.name, p.severity, p.since)',
      },
    ],
    caughtBy: 'of several problems of one kind each is told when it begins and when it ends',
  },
  {
    id: 'webhook-unset-at-once',
    promise: 'Webhooks',
    wrong: 'a daemon takes a receiver for unset that another daemon has',
    in: 'noteReceivers',
    find: '45 seconds',
    put: '0 seconds',
    caughtBy: 'while a daemon with a webhook runs beside one without it, it stays set',
  },
  {
    id: 'webhook-unset-fails',
    promise: 'Webhooks',
    wrong: 'a receiver that is no longer set counts as one that fails',
    in: 'wanted',
    find: ", 'unset'",
    put: '',
    caughtBy:
      'a webhook that no daemon has any more is unset, which is no failure, and says what to do',
  },
];
