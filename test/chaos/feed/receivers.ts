import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { closeServer, listen } from '../../support/listen.ts';
import { type SeededRandom, seededRandom } from '../../support/seeded-random.ts';

/** An event as a receiver got it. */
export type Told = { seq: number; wallet: string; kind: string; key: string; data: unknown };

export type Receiver = {
  readonly name: string;
  /** Events that it stored, in order and with repetitions; an answer may have been lost afterwards. */
  readonly told: Told[];
  /** Number of requests with a wrong signature. */
  forged: number;
  attempts: number;
};

export type Receivers = {
  readonly all: readonly Receiver[];
  /** Settings of the daemons. */
  readonly env: Record<string, string>;
  /** From now on each receiver accepts everything at once. */
  heal(): void;
  close(): Promise<void>;
};

/** Answer of a receiver: a status, or a cut connection. `keeps`: the receiver stores the event before it answers. */
type Answer = { status: number | 'cut'; keeps: boolean; afterMs: number; location?: string };

type Mood = (random: SeededRandom, receiver: Receiver) => Answer;

const accepted: Answer = { status: 204, keeps: true, afterMs: 0 };
/** Longer than a daemon waits for an answer. */
const slowMs = 20_000;
const awayEveryMs = 20_000;
const awayForMs = 8_000;
const goneFromAttempt = 30;

const moods: Record<string, Mood> = {
  steady: () => accepted,
  moody(random) {
    const kind = random.below(100);
    if (kind < 6) return { status: 500, keeps: false, afterMs: 0 };
    if (kind < 9) return { status: 302, keeps: false, afterMs: 0, location: 'http://127.0.0.1:1/' };
    if (kind < 12) return { status: 'cut', keeps: false, afterMs: 0 };
    // Stored, and the answer is lost.
    if (kind < 16) return { status: 'cut', keeps: true, afterMs: 0 };
    if (kind < 17) return { status: 204, keeps: true, afterMs: slowMs };
    return { ...accepted, afterMs: random.below(50) };
  },
  away: () =>
    Date.now() % awayEveryMs < awayForMs ? { status: 'cut', keeps: false, afterMs: 0 } : accepted,
  gone: (_, { attempts }) =>
    attempts < goneFromAttempt ? accepted : { status: 410, keeps: false, afterMs: 0 },
};

/** Starts a receiver for each mood on loopback. */
export async function startReceivers(seed: number): Promise<Receivers> {
  const random = seededRandom(seed);
  const state: { isHealed: boolean } = { isHealed: false };
  const started = await Promise.all(
    Object.entries(moods).map(async ([name, mood]) => {
      const secret = `whsec_${Buffer.from(random.text('0123456789abcdef', 32)).toString('base64')}`;
      const receiver: Receiver = { name, told: [], forged: 0, attempts: 0 };
      const answerOf = () => (state.isHealed ? accepted : mood(random, receiver));
      const server = createServer((request, response) => {
        // The daemon may be killed while it sends.
        receive(receiver, new Webhook(secret), answerOf, { request, response }).catch(() =>
          response.destroy(),
        );
      });
      return { receiver, secret, server, port: await listen(server) };
    }),
  );
  return {
    all: started.map(({ receiver }) => receiver),
    env: {
      FEED_WEBHOOKS: started
        .map(({ receiver, port }) => `${receiver.name}=http://127.0.0.1:${port}/hooks`)
        .join(),
      ...Object.fromEntries(
        started.map(({ receiver, secret }) => [
          `FEED_WEBHOOK_${receiver.name.toUpperCase()}_SECRET`,
          secret,
        ]),
      ),
    },
    heal() {
      state.isHealed = true;
    },
    async close() {
      await Promise.all(started.map(({ server }) => closeServer(server)));
    },
  };
}

async function receive(
  receiver: Receiver,
  webhook: Webhook,
  answerOf: () => Answer,
  { request, response }: { request: IncomingMessage; response: ServerResponse },
): Promise<void> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  const body = Buffer.concat(parts).toString('utf8');
  receiver.attempts += 1;
  try {
    webhook.verify(body, request.headers as Record<string, string>);
  } catch {
    receiver.forged += 1;
    response.writeHead(401).end();
    return;
  }
  const { status, keeps, afterMs, location } = answerOf();
  await delay(afterMs);
  if (keeps) receiver.told.push(JSON.parse(body) as Told);
  if (status === 'cut') response.destroy();
  else response.writeHead(status, location ? { location } : {}).end();
}
