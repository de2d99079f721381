import { createServer, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, expect, test } from 'vitest';
import { closeServer, listen } from '../support/listen.ts';
import { makeClient } from '../support/make-client.ts';
import { until } from '../support/until.ts';

const good = JSON.stringify({ code: 0, data: { pageNo: 1, pageSize: 10, totalSize: 0, list: [] } });
const bomb = gzipSync(Buffer.alloc(12 * 1024 * 1024, ' '));
const long = ' '.repeat(20_000);

/** One fault of each kind; the caller has to read or discard the bodies. */
const faults: Array<(response: ServerResponse) => unknown> = [
  (response) => response.writeHead(500).end(long),
  (response) => response.writeHead(429, { 'retry-after': '0' }).end(long),
  (response) => response.writeHead(302, { location: '/elsewhere' }).end(long),
  (response) => response.writeHead(401).end(long),
  (response) => response.writeHead(200).end(`<html>${long}</html>`),
  (response) => response.writeHead(200).end('{"code":7,"msg":"later"}'),
  (response) =>
    response.writeHead(200, { 'content-length': '99999' }).write(long, () => response.destroy()),
  (response) => response.destroy(),
];

const open = new Set<Socket>();
let served = 0;
let mostOpen = 0;
const server = createServer((request, response) => {
  request.resume();
  served += 1;
  const fault = served % 5 === 0 ? faults[(served / 5) % faults.length] : undefined;
  if (served % 500 === 0) response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb);
  else if (fault) fault(response);
  else response.writeHead(200, { 'content-type': 'application/json' }).end(good);
});
server.on('connection', (socket) => {
  open.add(socket);
  mostOpen = Math.max(mostOpen, open.size);
  socket.on('close', () => open.delete(socket));
});
const baseUrl = `http://127.0.0.1:${await listen(server)}/api`;
afterAll(() => closeServer(server));

test('[H18] thousands of requests with a fifth of the answers faulty leak no socket and no unread answer', async () => {
  const concurrency = 8;
  const { client, attempts } = await makeClient(baseUrl, {
    concurrency,
    timeoutMs: 5_000,
    retry: { attemptsMax: 3, baseDelayMs: 1, delayMaxMs: 1 },
  });
  const rounds = 20;
  const outcomes = new Set<string>();
  for (let round = 0; round < rounds; round += 1) {
    const calls = Array.from({ length: 100 }, () =>
      client.listTransactions({ type: 'deposit', pageNo: 1, pageSize: 10 }),
    );
    for (const end of await Promise.allSettled(calls)) {
      outcomes.add(end.status === 'fulfilled' ? 'success' : String(end.reason.code));
    }
  }
  expect(client.requests()).toBeGreaterThan(rounds * 100);
  expect(outcomes).toContain('success');
  expect(attempts.map(({ outcome }) => outcome)).toContain('authentication');
  // A connection whose answer was discarded may still be closing while the next one opens.
  expect(mostOpen).toBeLessThanOrEqual(4 * concurrency);
  await until(async () => open.size <= concurrency);
}, 120_000);
