import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';

export type Answer = { status: number; headers: IncomingHttpHeaders; body: Buffer };

/** One request on its way through the proxy. */
export type Exchange = {
  response: ServerResponse;
  /** Calls the service; each call delivers the request once more. */
  ask(): Promise<Answer>;
  /** The answer to an earlier request that clearly does not belong to this one, if there is any. */
  recall(): Answer | undefined;
  /** A number from 0 to 1 for the random choices of the fault. */
  dice: number;
};

type BadAnswer = (exchange: Exchange) => Promise<void> | void;

/** Larger than the program reads of an answer. */
const bomb = gzipSync(Buffer.alloc(24 * 1024 * 1024, ' '));
const trickleMs = 100;
const lateMaxMs = 2_500;
const heldMaxMs = 30_000;

/** Bad answers to a GET. */
export const badGetAnswers = {
  '429': ({ response }) => refuse(response, 429),
  '429 with Retry-After': ({ response }) => refuse(response, 429, { 'retry-after': '1' }),
  '500': ({ response }) => refuse(response, 500),
  '502': ({ response }) => send(response, 502, 'text/html', '<h1>Bad Gateway</h1>'),
  '503': ({ response }) => refuse(response, 503, { 'retry-after': '1' }),
  'HTML with 200': ({ response }) => send(response, 200, 'text/html', '<html>welcome</html>'),
  'empty body': ({ response }) => send(response, 200, 'application/json', ''),
  'null data': ({ response }) =>
    send(response, 200, 'application/json', '{"code":0,"msg":"ok","data":null}'),
  'code other than 0': ({ response }) =>
    send(response, 200, 'application/json', '{"code":50013,"msg":"busy","data":null}'),
  redirect: ({ response }) => {
    response.writeHead(302, { location: 'http://127.0.0.1:9/elsewhere' }).end();
  },
  'gzip bomb': ({ response }) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
    response.end(bomb);
  },
  'JSON cut, length of the rest': async ({ response, ask, dice }) => {
    const { status, body } = await ask();
    send(response, status, 'application/json', cut(body, dice));
  },
  'JSON cut, length of the whole': async ({ response, ask, dice }) => {
    const { status, body } = await ask();
    response.writeHead(status, {
      'content-type': 'application/json',
      'content-length': body.length,
    });
    response.write(cut(body, dice), () => response.destroy());
  },
  'reset before the head': async ({ response, ask }) => {
    await ask();
    response.socket?.resetAndDestroy();
  },
  'reset after the head': async ({ response, ask, dice }) => {
    const { status, body } = await ask();
    response.writeHead(status, { 'content-type': 'application/json' });
    response.write(cut(body, dice), () => response.socket?.resetAndDestroy());
  },
  trickle: async ({ response, ask }) => {
    const { status, body } = await ask();
    response.writeHead(status, { 'content-type': 'application/json' });
    for (const byte of body) {
      if (response.destroyed) return;
      response.write(Buffer.of(byte));
      await delay(trickleMs);
    }
    response.end();
  },
  'answer of another request': async ({ response, ask, recall }) => {
    relay(response, recall() ?? (await ask()));
  },
  late: async ({ response, ask, dice }) => {
    const answer = await ask();
    await delay(dice * lateMaxMs);
    relay(response, answer);
  },
} as const satisfies Record<string, BadAnswer>;

/** All processes pause after these: if they are frequent, few other faults can occur. */
export const pausingAnswers: readonly string[] = [
  '429',
  '429 with Retry-After',
  '503',
  'trickle',
] satisfies (keyof typeof badGetAnswers)[];

/** Bad answers in place of an address request that never reaches the service. */
export const unsentPostAnswers = {
  '429': ({ response }) => refuse(response, 429),
  '503': ({ response }) => refuse(response, 503),
  reset: ({ response }) => {
    response.socket?.resetAndDestroy();
  },
} as const satisfies Record<string, BadAnswer>;

/** Ways to lose the answer to an address request: the service has generated addresses, and the client cannot know. */
export const lostPostAnswers = {
  eaten: async ({ response, ask }) => {
    await ask();
    const giveUp = delay(heldMaxMs, undefined, { ref: false });
    const gone = new Promise((done) => response.on('close', done));
    await Promise.race([giveUp, gone]);
    response.destroy();
  },
  'reset before the head': badGetAnswers['reset before the head'],
  'reset after the head': badGetAnswers['reset after the head'],
  '500 in its place': async ({ response, ask }) => {
    await ask();
    refuse(response, 500);
  },
  '502 in its place': async ({ response, ask }) => {
    await ask();
    send(response, 502, 'text/html', '<h1>Bad Gateway</h1>');
  },
  'HTML in its place': async ({ response, ask }) => {
    await ask();
    send(response, 200, 'text/html', '<html>welcome</html>');
  },
  'empty body': async ({ response, ask }) => {
    await ask();
    send(response, 200, 'application/json', '');
  },
  'JSON cut, length of the rest': badGetAnswers['JSON cut, length of the rest'],
  'JSON cut, length of the whole': badGetAnswers['JSON cut, length of the whole'],
} as const satisfies Record<string, BadAnswer>;

/** Passes on an answer unchanged. */
export function relay(response: ServerResponse, { status, headers, body }: Answer): void {
  if (response.destroyed) return;
  const { connection: _, 'transfer-encoding': __, 'keep-alive': ___, ...kept } = headers;
  response.writeHead(status, { ...kept, 'content-length': body.length }).end(body);
}

function refuse(response: ServerResponse, status: number, headers: Record<string, string> = {}) {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  send(response, status, 'application/json', `{"code":${status},"msg":"not now","data":null}`);
}

function send(response: ServerResponse, status: number, type: string, body: string | Buffer) {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) });
  response.end(body);
}

/** At least one byte short, so that it is never complete. */
function cut(body: Buffer, dice: number): Buffer {
  return body.subarray(0, Math.floor(dice * body.length));
}
