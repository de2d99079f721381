import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type ServerOptions } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { daysFromNow, makeAuthority, makeCertificate } from '../support/certificates.ts';
import { forgetWallet } from '../support/forget-wallet.ts';
import { listen } from '../support/listen.ts';
import { runProgram } from '../support/run-cli.ts';
import { startPostgres } from '../support/start-postgres.ts';

const authority = makeAuthority('trusted');
const stranger = makeAuthority('stranger');
const directory = mkdtempSync(join(tmpdir(), 'wallet-ledger-tls-'));
writeFileSync(join(directory, 'authority.pem'), authority.pem);
const database = await startPostgres({ isMigrated: true });
afterAll(async () => {
  rmSync(directory, { recursive: true, force: true });
  await database.close();
});

const valid = { name: 'service', host: '127.0.0.1', from: daysFromNow(-2), to: daysFromNow(2) };
const good = makeCertificate({ ...valid, issuer: authority });

/**
 * Requests coins from a service with this certificate, trusting only the one authority; returns the number of requests
 * that arrived.
 */
async function syncCoins(options: ServerOptions) {
  let requests = 0;
  const server = createServer(options, (_request, response) => {
    requests += 1;
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"code":0,"data":[]}');
  });
  onTestFinished(() => void server.close());
  const port = await listen(server);
  const ended = await runProgram(['sync', 'coins'], {
    WALLET_BASE_URL: `https://127.0.0.1:${port}/api`,
    WALLET_API_SECRET: '6d59626f7ffffa64f8a6b36e9fcc9551b54a1dfebb973606d24578adecebfbaf',
    WALLET_MAX_RPS: 'off',
    DATABASE_URL: database.connectionString,
    NODE_EXTRA_CA_CERTS: join(directory, 'authority.pem'),
    LOG_LEVEL: 'error',
  });
  await forgetWallet(database.connectionString);
  return { ...ended, requests };
}

test('[H14 S4] a certificate of a trusted authority for the right host and time is accepted', async () => {
  expect(await syncCoins(good)).toMatchObject({ code: 0, requests: 1 });
}, 60_000);

const bad: Array<[what: string, options: ServerOptions, reason: RegExp]> = [
  [
    'that has expired',
    makeCertificate({ ...valid, issuer: authority, to: daysFromNow(-1) }),
    /expired/,
  ],
  [
    'that is not valid yet',
    makeCertificate({ ...valid, issuer: authority, from: daysFromNow(1) }),
    /not yet valid/,
  ],
  [
    'of another host',
    makeCertificate({ ...valid, issuer: authority, host: '10.0.0.1' }),
    /altnames|not in the cert/,
  ],
  ['signed by itself', makeCertificate({ ...valid, issuer: null }), /self-signed/],
  [
    'of an unknown authority',
    makeCertificate({ ...valid, issuer: stranger }),
    /unable to (verify|get local issuer)/,
  ],
  [
    'behind TLS 1.1',
    { ...good, minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' },
    /protocol version|unsupported protocol|SSL/,
  ],
];

test('[H14 S4] with an invalid certificate or an insecure protocol no request is sent, and the reason is reported', async () => {
  // Concurrently, because each one is tried eight times.
  await Promise.all(
    bad.map(async ([what, options, reason]) => {
      const { code, requests, stderr } = await syncCoins(options);
      expect(stderr, what).toMatch(reason);
      expect([code, requests], what).toEqual([4, 0]);
    }),
  );
}, 90_000);
