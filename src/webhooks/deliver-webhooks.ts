import { toError } from '../kernel/errors.ts';
import type { Log } from '../kernel/log.ts';
import { createWokenWorker } from '../kernel/woken-worker.ts';
import type { Ledger } from '../ledger/connection/connect-ledger.ts';
import {
  addReceivers,
  claimDelivery,
  type DeliveryFailure,
  endDelivery,
  noteReceivers,
  readDueDeliveries,
} from '../ledger/feed/webhook-store.ts';
import { type Resolve, resolveAll } from './receiver-address.ts';
import { createReceiverRest } from './receiver-rest.ts';
import { type Receiver, sendWebhook } from './send-webhook.ts';

/** Adds a job to the queue; a job with the same id that has not ended is kept instead. */
type AddJob = (name: string, id: string, data: { receiver: string; seq: number }) => Promise<void>;

type Outcome = 'accepted' | 'refused' | 'gone';

export type WebhookOptions = {
  ledger: Ledger;
  receivers: readonly Receiver[];
  addJob: AddJob;
  /** Callback for each attempt. */
  onAttempt(receiver: string, outcome: Outcome): void;
  log: Log;
  resolve?: Resolve;
};

export type Webhooks = {
  /** The jobs that deliver events, those of each receiver under a name of their own. */
  jobs: {
    name: string;
    runsMax: number;
    run(data: unknown, signal: AbortSignal): Promise<void>;
  }[];
  /** Begins to make jobs, once the queue is open. Returns the function that stops it. */
  start(): () => void;
  /** Called when there may be further events. */
  wake(): void;
};

/** Maximum of events that are sent to one receiver at the same time, each of another key. */
const runsMax = 4;
/**
 * Interval of the checks without a notification: for attempts that are due again, and because a notification may be
 * lost.
 */
const heartbeatMs = 5_000;
/** Largest age (ms) of a claim at which an attempt, of at most 15 s, still ends before the claim does. */
const claimFreshMs = 12_000;
/** Interval (ms) at which a daemon records which receivers it has. */
const noteMs = 15_000;

/**
 * Sends the events of the change feed to the receivers. PostgreSQL knows what is to be sent and when; the queue only
 * spreads the attempts over the daemons, and may lose its jobs at any time.
 */
export async function deliverWebhooks(options: WebhookOptions): Promise<Webhooks> {
  const { ledger, receivers, log } = options;
  const names = receivers.map(({ name }) => name);
  await addReceivers(ledger.db, names);
  const senders = receivers.map((receiver) => createSender(receiver, options));
  const notes = createWokenWorker(
    () => noteReceivers(ledger.db, names),
    (error) => log.debug({ error: toError(error) }, 'the webhook receivers cannot be stored'),
  );
  const timers: NodeJS.Timeout[] = [];
  const wake = () => {
    if (timers.length > 0) for (const sender of senders) sender.wake();
  };
  return {
    jobs: senders,
    wake,
    start() {
      timers.push(setInterval(wake, heartbeatMs), setInterval(notes.wake, noteMs));
      notes.wake();
      wake();
      return () => {
        for (const timer of timers) clearInterval(timer);
        // Not awaited, because adding a job may hang while the queue is down.
        for (const worker of [...senders, notes]) void worker.stop();
      };
    },
  };
}

/** One receiver: makes jobs of the events that are due, and runs them. */
function createSender(
  receiver: Receiver,
  { ledger, addJob, onAttempt, log, resolve = resolveAll }: WebhookOptions,
) {
  const { db } = ledger;
  const name = `webhook-${receiver.name}`;
  const rest = createReceiverRest(() => performance.now());
  let isFailing = false;

  const maker = createWokenWorker(
    async () => {
      if (rest.isResting()) return;
      const options = { max: runsMax, isProbe: rest.isDown() };
      for (const { seq, attempts } of await readDueDeliveries(db, receiver.name, options))
        await addJob(name, `${name}-${seq}-${attempts}`, { receiver: receiver.name, seq });
    },
    (error) =>
      log.debug({ error: toError(error), receiver: receiver.name }, 'events for a webhook wait'),
  );

  async function run(data: unknown, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const seq = seqOf(data);
    const askedAt = performance.now();
    const claimed = await claimDelivery(db, receiver.name, seq);
    // After a lock or a pause of this process, another daemon may be sending the event, or the next one of its key.
    if (claimed === null || performance.now() - askedAt > claimFreshMs) return;
    const failure = await sendWebhook(receiver, claimed.event, { resolve, stopping: signal });
    await endDelivery(db, { receiver: receiver.name, seq, attempt: claimed.attempt }, failure);
    onAttempt(receiver.name, outcomeOf(failure));
    report(seq, failure);
    const restMs = rest.note(failure === null);
    if (restMs > 0) setTimeout(maker.wake, restMs).unref();
    else maker.wake();
  }

  /** Logs the first failure, and the first success after it. */
  function report(seq: number, failure: DeliveryFailure | null): void {
    if ((failure !== null) === isFailing) return;
    isFailing = failure !== null;
    const words = isFailing
      ? 'a webhook does not accept an event; it is sent again'
      : 'a webhook accepts events again';
    log[isFailing ? 'warn' : 'info'](
      { receiver: receiver.name, seq, reason: failure?.message },
      words,
    );
  }

  return {
    name,
    runsMax,
    run,
    wake: maker.wake,
    stop: maker.stop,
  };
}

function outcomeOf(failure: DeliveryFailure | null): Outcome {
  if (failure === null) return 'accepted';
  return failure.isGone ? 'gone' : 'refused';
}

function seqOf(data: unknown): number {
  if (typeof data === 'object' && data !== null && 'seq' in data && typeof data.seq === 'number')
    return data.seq;
  throw new Error('a webhook job has no event number');
}
