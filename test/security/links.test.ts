import { createServer as createHttpServer, type IncomingHttpHeaders } from 'node:http';
import { createServer, type Server, type Socket } from 'node:net';
import { createSecureContext, TLSSocket } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import {
  type Certificate,
  daysFromNow,
  makeAuthority,
  makeCertificate,
} from '../support/certificates.ts';
import { listen as listenOnLoopback } from '../support/listen.ts';
import { runProgram, startProgram } from '../support/run-cli.ts';
import { until } from '../support/until.ts';
import { withService } from '../support/with-service.ts';

const canary = 'canary-of-the-link';
const quiet = { LOG_LEVEL: 'error' };

function listen(server: Server): Promise<number> {
  onTestFinished(() => void server.close());
  return listenOnLoopback(server);
}

test('[S4] an environment that switches the check of certificates off is refused', async () => {
  const { env } = await withService({ transactions: 10 });
  const { code, stderr } = await runProgram(['start'], {
    ...env,
    WALLET_BASE_URL: 'https://wallet.example.com',
    NODE_TLS_REJECT_UNAUTHORIZED: '0',
  });
  expect(code).toBe(2);
  expect(stderr).toContain('NODE_TLS_REJECT_UNAUTHORIZED');
});

/** Takes connections as a PostgreSQL or a Redis with TLS does, and keeps what it is told once it is encrypted. */
async function listenWithTls(identity: Certificate, greeting: 'postgres' | 'redis') {
  const told: string[] = [];
  const context = createSecureContext(identity);
  const secure = (socket: Socket) => {
    const encrypted = new TLSSocket(socket, { isServer: true, secureContext: context });
    encrypted.on('error', () => undefined);
    encrypted.on('data', (data) => told.push(data.toString('latin1')));
  };
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    if (greeting === 'redis') return secure(socket);
    // The client asks for TLS in the clear; `S` grants it.
    socket.once('data', () => {
      socket.write('S');
      secure(socket);
    });
  });
  return { port: await listen(server), told };
}

test('[S4] neither PostgreSQL nor Redis gets any data under a certificate that no trusted authority signed', async () => {
  const { env } = await withService({ transactions: 10 });
  const identity = makeCertificate({
    issuer: makeAuthority('stranger'),
    name: 'server',
    host: '127.0.0.1',
    from: daysFromNow(-2),
    to: daysFromNow(2),
  });
  const [database, redis] = await Promise.all([
    listenWithTls(identity, 'postgres'),
    listenWithTls(identity, 'redis'),
  ]);
  const address = `127.0.0.1:${database.port}/ledger`;
  const ends = await Promise.all([
    ...['require', 'verify-ca', 'verify-full'].map((mode) =>
      runProgram(['status'], {
        ...quiet,
        DATABASE_URL: `postgres://me:${canary}@${address}?sslmode=${mode}`,
      }),
    ),
    runProgram(['start'], {
      ...env,
      ...quiet,
      REDIS_URL: `rediss://:${canary}@127.0.0.1:${redis.port}`,
    }),
  ]);
  expect(ends.map(({ code }) => code)).toEqual([5, 5, 5, 5]);
  for (const { stderr } of ends) expect(stderr).toMatch(/certificate/);
  expect([...database.told, ...redis.told]).toEqual([]);
}, 120_000);

/** A PostgreSQL that asks for the password in a form of its own; keeps all that it is told after that. */
async function listenForPasswords(request: Buffer) {
  const told: Buffer[] = [];
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => {
      socket.on('data', (data) => told.push(data));
      socket.write(request);
    });
  });
  return { port: await listen(server), told: () => Buffer.concat(told).toString('latin1') };
}

const passwordRequests = {
  password: Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 3]),
  md5: Buffer.from([0x52, 0, 0, 0, 12, 0, 0, 0, 5, 1, 2, 3, 4]),
};

test.each(['password', 'md5'] as const)(
  '[S4] a server on another machine gets the password by %s only where the address says so',
  async (method) => {
    const { port, told } = await listenForPasswords(passwordRequests[method]);
    // 0.0.0.0 leads to this machine, but is not known as one of its names.
    const url = `postgres://me:${canary}@0.0.0.0:${port}/ledger?sslmode=disable`;
    const refused = await runProgram(['status'], { ...quiet, DATABASE_URL: url });
    expect([refused.code, told()]).toEqual([2, '']);
    expect(refused.stderr).toContain(`the method ${method}`);
    startProgram(['status'], { ...quiet, DATABASE_URL: `${url}&require_auth=${method}` });
    await until(async () => told() !== '');
    expect(told()).toContain(method === 'md5' ? 'md5' : canary);
  },
  60_000,
);

test('[S3] a redirect is not followed: whoever it names gets no request, and so no key and no signature', async () => {
  const { env } = await withService({ transactions: 10 });
  const strangers: IncomingHttpHeaders[] = [];
  const stranger = await listen(
    createHttpServer((incoming, response) => {
      strangers.push(incoming.headers);
      response.end('{"code":0,"data":[]}');
    }),
  );
  for (const status of [301, 302, 303, 307, 308]) {
    const asked: IncomingHttpHeaders[] = [];
    const front = await listen(
      createHttpServer((incoming, response) => {
        asked.push(incoming.headers);
        response.writeHead(status, { Location: `http://127.0.0.1:${stranger}/api${incoming.url}` });
        response.end();
      }),
    );
    const { code, stderr } = await runProgram(['sync', 'coins'], {
      ...env,
      ...quiet,
      WALLET_BASE_URL: `http://127.0.0.1:${front}/api`,
    });
    expect([status, code]).toEqual([status, 4]);
    expect(stderr).toContain('set WALLET_BASE_URL to the address of the service itself');
    // The one that was asked did get them: the test would see them arrive.
    expect(asked).toEqual([expect.objectContaining({ 'biz-api-signature': expect.any(String) })]);
  }
  expect(strangers).toEqual([]);
}, 60_000);

test('[S3] a proxy that the environment names gets no request', async () => {
  const { sandbox, env } = await withService({ transactions: 10 });
  let proxied = 0;
  const proxy = await listen(
    createHttpServer((_, response) => {
      proxied += 1;
      response.end();
    }),
  );
  const address = `http://127.0.0.1:${proxy}`;
  const names = ['http_proxy', 'https_proxy', 'all_proxy'].flatMap((name) => [
    [name, address],
    [name.toUpperCase(), address],
  ]);
  const { code } = await runProgram(['sync', 'coins'], { ...env, ...Object.fromEntries(names) });
  expect([code, proxied]).toEqual([0, 0]);
  expect(sandbox.stats.requests['/v1/wallet/coin']).toBe(1);
}, 60_000);
