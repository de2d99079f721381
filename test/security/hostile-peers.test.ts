import { createServer as createHttpServer, type ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:net';
import { gzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { listen as listenOnLoopback } from '../support/listen.ts';
import { runProgram, startProgram } from '../support/run-cli.ts';
import { withService } from '../support/with-service.ts';

const quiet = { LOG_LEVEL: 'error' };

function listen(server: Server): Promise<number> {
  onTestFinished(() => void server.close());
  return listenOnLoopback(server);
}

/** A server that takes every connection and never says a word. */
async function listenMutely(): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    onTestFinished(() => void socket.destroy());
  });
  return await listen(server);
}

const deep = 100_000;
/** Hostile answers, each with the exit code of the command; 3: a row that cannot be read is kept as a reject. */
const hostileAnswers: [string, number, (response: ServerResponse) => void][] = [
  [
    'unpacks to 2 GiB',
    4,
    (response) => {
      response.setHeader('Content-Encoding', 'gzip');
      const stuffing = gzipSync(Buffer.alloc(16 * 2 ** 20, ' '));
      for (let part = 0; part < 128; part += 1) response.write(stuffing);
      response.end();
    },
  ],
  [
    'is nested deeply',
    3,
    (response) => response.end(`{"code":0,"data":${'['.repeat(deep)}${']'.repeat(deep)}}`),
  ],
  ['never ends', 4, (response) => void setInterval(() => response.write(' '), 10).unref()],
  ['is a web page', 4, (response) => response.end('<html><body>maintenance</body></html>')],
  [
    'reaches for prototypes',
    4,
    (response) => response.end('{"code":0,"data":{"__proto__":{"list":[]},"constructor":{"a":1}}}'),
  ],
];

test('[S5] hostile answers end the command with its code, within little memory, and store nothing', async () => {
  const { env, query } = await withService({ transactions: 10 });
  const attempt = async (answer: (response: ServerResponse) => void, timeout: string) => {
    const port = await listen(createHttpServer((_request, response) => answer(response)));
    const program = startProgram(['sync', 'coins'], {
      ...env,
      ...quiet,
      WALLET_BASE_URL: `http://127.0.0.1:${port}/api`,
      WALLET_TIMEOUT: timeout,
    });
    let peakMiB = 0;
    const watch = setInterval(() => {
      try {
        peakMiB = program.peakMemoryMiB();
      } catch {
        // It has ended, or there is no /proc.
      }
    }, 50);
    const { code, stderr } = await program.ended;
    clearInterval(watch);
    return { code, stderr, peakMiB };
  };
  const judge = (answers: typeof hostileAnswers) =>
    Promise.all(
      answers.map(async ([what, expected, answer]) => {
        // On a busy machine the others may take more than a second to be read.
        const timeout = what === 'never ends' ? '1s' : '15s';
        const { code, stderr, peakMiB } = await attempt(answer, timeout);
        expect([what, code]).toEqual([what, expected]);
        expect(stderr).not.toMatch(/^\s+at /m);
        expect([what, peakMiB < 400]).toEqual([what, true]);
      }),
    );
  await judge(hostileAnswers.filter(([, code]) => code === 4));
  // An answer that can be read makes its service that of the ledger, which then refuses the others.
  await judge(hostileAnswers.filter(([, code]) => code !== 4));
  expect(await query('select 1 from ledger.coins')).toEqual([]);
}, 90_000);

test('[S6] a service, a database and a Redis that accept connections and send nothing time out, each with its code', async () => {
  const { env } = await withService({ transactions: 10 });
  const port = await listenMutely();
  const [service, database, redis] = await Promise.all([
    runProgram(['sync', 'coins'], {
      ...env,
      ...quiet,
      WALLET_BASE_URL: `http://127.0.0.1:${port}/api`,
      WALLET_TIMEOUT: '300ms',
    }),
    runProgram(['status'], { ...quiet, DATABASE_URL: `postgres://me@127.0.0.1:${port}/ledger` }),
    runProgram(['start'], { ...env, ...quiet, REDIS_URL: `redis://127.0.0.1:${port}` }),
  ]);
  expect([service.code, database.code, redis.code]).toEqual([4, 5, 5]);
  for (const { stderr } of [service, database, redis])
    expect(stderr).toMatch(/wallet-ledger: .+; .+\n$/s);
}, 90_000);
