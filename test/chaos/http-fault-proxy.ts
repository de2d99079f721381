import { Agent, createServer, type IncomingMessage, request as startRequest } from 'node:http';
import { closeServer, listen } from '../support/listen.ts';
import { seededRandom } from '../support/seeded-random.ts';
import {
  type Answer,
  badGetAnswers,
  type Exchange,
  lostPostAnswers,
  pausingAnswers,
  relay,
  unsentPostAnswers,
} from './bad-answers.ts';

export type AnswerRates = {
  /** Share of GETs with a bad answer, 0..1. */
  bad: number;
  /** Share of address requests whose answer is lost. */
  lostPost: number;
  /** Share of address requests that never arrive. */
  unsentPost: number;
  /** Frequency of the bad answers that pause all processes, 0..1; at 1 they are as frequent as the others. */
  pausing: number;
  /** True while the service is away: every connection is reset. */
  isAway: boolean;
};

export type HttpFaultProxy = {
  port: number;
  /** Mutable. */
  readonly rates: AnswerRates;
  /** Number of times that each bad answer was given. */
  readonly made: ReadonlyMap<string, number>;
  readonly counts: { requests: number; posts: number; badGets: number; lostPosts: number };
  connections(): Promise<number>;
  close(): Promise<void>;
};

type Asked = { method: string; url: string; headers: IncomingMessage['headers']; body: Buffer };

const remembered = 200;

/**
 * A proxy before the service. Seed and order of arrival determine which requests it spoils, and how. `onLost` gets the
 * number of each request that the service has answered in vain.
 */
export async function startHttpFaultProxy(options: {
  targetPort: number;
  seed: number;
  onLost(serial: number): void;
}): Promise<HttpFaultProxy> {
  const random = seededRandom(options.seed).next;
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const rates: AnswerRates = { bad: 0, lostPost: 0, unsentPost: 0, pausing: 1, isAway: false };
  const made = new Map<string, number>();
  const counts = { requests: 0, posts: 0, badGets: 0, lostPosts: 0 };
  const memory: { asked: Asked; answer: Answer }[] = [];

  const server = createServer((incoming, response) => {
    incoming.on('error', () => undefined);
    response.on('error', () => undefined);
    const serve = async () => {
      const asked = await readRequest(incoming);
      counts.requests += 1;
      if (asked.method === 'POST') counts.posts += 1;
      if (rates.isAway) {
        response.socket?.resetAndDestroy();
        return;
      }
      const serials: number[] = [];
      const ask = async () => {
        const answer = await forward(asked);
        const serial = Number(answer.headers['x-oracle-call']);
        if (Number.isInteger(serial)) serials.push(serial);
        return answer;
      };
      const choice = choose(asked);
      const closed = new Promise((done) => response.on('close', done));
      if (choice) {
        count(choice.name);
        await choice.act({ response, ask, recall: () => recall(asked), dice: random() });
      } else {
        const answer = await ask();
        remember(asked, answer);
        relay(response, answer);
      }
      if (asked.method !== 'POST') return;
      // The client may have disconnected before or during the answer.
      if (!response.closed) await closed;
      if (choice?.isLost || !response.writableFinished) serials.forEach(options.onLost);
    };
    serve().catch(() => response.socket?.resetAndDestroy());
  });
  server.keepAliveTimeout = 30_000;
  const port = await listen(server);

  function choose(asked: Asked) {
    const draw = random();
    if (asked.method !== 'POST') {
      if (draw >= rates.bad) return undefined;
      counts.badGets += 1;
      return pick('GET', badGetAnswers, false);
    }
    if (draw < rates.lostPost) {
      counts.lostPosts += 1;
      return pick('POST lost', lostPostAnswers, true);
    }
    return draw < rates.lostPost + rates.unsentPost
      ? pick('POST not sent', unsentPostAnswers, false)
      : undefined;
  }
  function pick(
    group: string,
    table: Record<string, (exchange: Exchange) => Promise<void> | void>,
    isLost: boolean,
  ) {
    const isKept = random() < rates.pausing;
    const entries = Object.entries(table).filter(
      ([name]) => isKept || table !== badGetAnswers || !pausingAnswers.includes(name),
    );
    const [name, act] = entries[Math.floor(random() * entries.length)] ?? entries[0]!;
    return { name: `${group}: ${name}`, act, isLost };
  }
  function count(name: string): void {
    made.set(name, (made.get(name) ?? 0) + 1);
  }
  function remember(asked: Asked, answer: Answer): void {
    if (asked.method !== 'GET') return;
    memory.push({ asked, answer });
    if (memory.length > remembered) memory.shift();
  }
  function recall(asked: Asked): Answer | undefined {
    const others = memory.filter((one) => isTellable(asked.url, one.asked.url));
    return others[Math.floor(random() * others.length)]?.answer;
  }
  function forward({ method, url, headers, body }: Asked): Promise<Answer> {
    return new Promise((done, fail) => {
      const { connection: _, ...kept } = headers;
      const outgoing = startRequest(
        { port: options.targetPort, host: '127.0.0.1', method, path: url, headers: kept, agent },
        (incoming) => {
          readAll(incoming).then(
            (answer) =>
              done({ status: incoming.statusCode ?? 0, headers: incoming.headers, body: answer }),
            fail,
          );
        },
      );
      outgoing.on('error', fail);
      outgoing.end(body);
    });
  }
  return {
    port,
    rates,
    made,
    counts,
    connections: () =>
      new Promise((done) => server.getConnections((_error, open) => done(open ?? 0))),
    async close() {
      const closed = closeServer(server);
      agent.destroy();
      await closed;
    },
  };
}

/** Returns true if an answer shows that it belongs to the other request: by its shape, its page or its order number. */
function isTellable(own: string, other: string): boolean {
  const [a, b] = [own, other].map((url) => new URL(url, 'http://127.0.0.1'));
  if (!a || !b || a.pathname !== b.pathname) return true;
  const differing = [...a.searchParams.keys()].filter(
    (name) => a.searchParams.get(name) !== b.searchParams.get(name),
  );
  return differing.some((name) => name === 'pageNo' || name === 'orderNo');
}

async function readRequest(incoming: IncomingMessage): Promise<Asked> {
  const body = await readAll(incoming);
  return {
    method: incoming.method ?? 'GET',
    url: incoming.url ?? '/',
    headers: incoming.headers,
    body,
  };
}

async function readAll(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
