import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { daysFromNow, makeAuthority, makeCertificate } from '../support/certificates.ts';
import { runProgram, startProgram } from '../support/run-cli.ts';
import { startRedis } from '../support/start-redis.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';
import { newSecret, startReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts';
import { type Service, withService } from '../support/with-service.ts';

const settingsOf = (receivers: Record<string, { url: string; secret: string }>) => ({
  FEED_WEBHOOKS: Object.entries(receivers)
    .map(([name, { url }]) => `${name}=${url}`)
    .join(),
  ...Object.fromEntries(
    Object.entries(receivers).map(([name, { secret }]) => [
      `FEED_WEBHOOK_${name.toUpperCase()}_SECRET`,
      secret,
    ]),
  ),
});

/** A daemon that takes jobs, and has its receivers. */
async function startDaemon(env: Record<string, string>) {
  const daemon = startProgram(['start'], env);
  const { port } = JSON.parse(await daemon.line('"listening"')) as { port: number };
  await until(async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).ok, 60_000);
  return { ...daemon, url: `http://127.0.0.1:${port}` };
}

/** Writes events of several keys, as triggers do. */
const emit = ({ query }: Service, count: number, keys = 5) =>
  query(
    `select engine.emit('test', 'key ' || n % ${keys}, jsonb_build_object('n', n)) from generate_series(1, ${count}) as n`,
  );

const ofTest = (deliveries: WebhookReceiver['attempts']) =>
  deliveries.filter(({ kind }) => kind === 'test');

/** The events in the order of their first acceptance, by key: repetitions left out. */
function acceptedByKey(receiver: WebhookReceiver): Record<string, number[]> {
  const byKey: Record<string, number[]> = {};
  for (const { key, seq } of ofTest(receiver.accepted)) {
    byKey[key] ??= [];
    if (!byKey[key].includes(seq)) byKey[key].push(seq);
  }
  return byKey;
}

function expectAllInOrder(receiver: WebhookReceiver, count: number): void {
  const byKey = acceptedByKey(receiver);
  expect(Object.values(byKey).flat()).toHaveLength(count);
  for (const seqs of Object.values(byKey)) expect(seqs).toEqual(seqs.toSorted((a, b) => a - b));
}

test('[Q18] a daemon that is killed again and again delivers everything in order, and a slow receiver delays no other', async () => {
  const service = await withService({ transactions: 20 });
  const [shop, slow] = [await startReceiver(), await startReceiver()];
  slow.behaviour = () => new Promise(() => undefined);
  // A refused event comes again after five seconds or more.
  shop.behaviour = () => (shop.attempts.length % 9 === 0 ? 503 : 204);
  const env = { ...service.env, ...settingsOf({ shop, slow }) };
  expect((await runProgram(['migrate'], service.env)).code).toBe(0);
  for (let run = 1; run <= 3; run += 1) {
    const daemon = await startDaemon(env);
    const before = ofTest(shop.accepted).length;
    await emit(service, 20);
    // Events that the killed daemon was sending stay claimed for another 30 seconds.
    await until(async () => ofTest(shop.accepted).length > before + 5, 120_000);
    daemon.process.kill('SIGKILL');
    await daemon.ended;
  }
  const last = await startDaemon(env);
  await emit(service, 10);
  await until(async () => Object.values(acceptedByKey(shop)).flat().length === 70, 240_000);
  expectAllInOrder(shop, 70);
  expect(slow.accepted).toEqual([]);
  await until(
    async () =>
      (await fetch(`${last.url}/metrics`).then((answer) => answer.text())).includes(
        'wallet_ledger_webhook_attempts_total{receiver="shop",outcome="accepted"}',
      ),
    30_000,
  );
  await until(
    async () =>
      (await runProgram(['feed', 'list'], env)).stdout.includes(
        'failing: it did not answer in time',
      ),
    60_000,
  );
  // Events of the wallet itself go on, and each refused one comes again later.
  shop.behaviour = () => 204;
  const lags = async () => {
    const list = await runProgram(['feed', 'list', '--json'], env);
    const { feed } = JSON.parse(list.stdout) as { feed: Record<string, unknown>[] };
    return Object.fromEntries(feed.map(({ name, ...lag }) => [name, lag]));
  };
  await until(async () => {
    const { shop: lag } = await lags();
    return lag?.['kind'] === 'webhook' && lag['lagEvents'] === 0 && lag['state'] === 'reading';
  }, 90_000);
  expect((await lags())['slow']?.['lagEvents']).toBeGreaterThanOrEqual(70);
  last.process.kill('SIGTERM');
  expect(await last.ended).toMatchObject({ code: 0 });
}, 800_000);

test.skipIf(!(await hasRedis()))(
  '[Q18] a flushed Redis loses no event, and a receiver may have a certificate of its own authority',
  async () => {
    const redis = await startRedis();
    if (!redis) throw new Error('there is no Redis');
    onTestFinished(() => redis.close());
    const service = await withService({ transactions: 5 });
    const authority = makeAuthority('trusted');
    const dates = { from: daysFromNow(-1), to: daysFromNow(1) };
    const shop = await startReceiver(
      newSecret(),
      makeCertificate({ issuer: authority, name: 'shop', host: '127.0.0.1', ...dates }),
    );
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'authority.pem'), authority.pem);
    const env = {
      ...service.env,
      ...settingsOf({ shop }),
      REDIS_URL: redis.url,
      NODE_EXTRA_CA_CERTS: join(folder, 'authority.pem'),
    };
    const daemon = await startDaemon(env);
    const flush = async () => {
      const { Redis } = await import('ioredis');
      const client = new Redis(redis.url);
      await client.flushall();
      client.disconnect();
    };
    for (let round = 1; round <= 3; round += 1) {
      await emit(service, 30);
      await flush();
    }
    await until(async () => Object.values(acceptedByKey(shop)).flat().length === 90, 120_000);
    expectAllInOrder(shop, 90);
    daemon.process.kill('SIGTERM');
    await daemon.ended;
  },
  240_000,
);

async function hasRedis(): Promise<boolean> {
  const redis = await startRedis();
  await redis?.close();
  return redis !== undefined;
}

test('the receiver of the example verifies what a daemon sends, and the commands rule it', async () => {
  const service = await withService({ transactions: 5 });
  const secret = newSecret();
  const example = spawn(process.execPath, ['examples/receive-webhooks.mjs'], {
    env: { WEBHOOK_SECRET: secret, PORT: '0' },
  });
  onTestFinished(() => void example.kill('SIGKILL'));
  const lines: string[] = [];
  createInterface(example.stdout).on('line', (line) => lines.push(line));
  await until(async () => lines.length === 1);
  const port = lines[0]?.split(' ').at(-1);
  const env = {
    ...service.env,
    ...settingsOf({ shop: { url: `http://127.0.0.1:${port}/`, secret } }),
  };
  const daemon = await startDaemon(env);
  await emit(service, 3, 1);
  const got = () => lines.filter((line) => line.endsWith(' test key 0')).length;
  await until(async () => got() === 3, 60_000);
  expect((await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: '{}' })).status).toBe(
    401,
  );
  await until(
    async () => (await runProgram(['feed', 'list'], env)).stdout.includes('up to date'),
    60_000,
  );

  expect((await runProgram(['feed', 'pause', 'shop'], env)).code).toBe(0);
  await emit(service, 2, 1);
  await until(
    async () => (await runProgram(['feed', 'list'], env)).stdout.includes('behind'),
    60_000,
  );
  const paused = await runProgram(['feed', 'list'], env);
  expect(paused).toMatchObject({ code: 0, stdout: expect.stringContaining('· paused') });
  expect(got()).toBe(3);
  expect((await runProgram(['feed', 'resume', 'shop'], env)).code).toBe(0);
  await until(async () => got() === 5, 60_000);

  const unknown = await runProgram(['feed', 'resume', 'shops'], env);
  expect(unknown).toMatchObject({ code: 2, stderr: expect.stringContaining('there is shop') });
  const beyond = await runProgram(['feed', 'replay', 'shop', '--from', '999999'], env);
  expect(beyond).toMatchObject({ code: 2, stderr: expect.stringContaining('its latest event is') });
  expect((await runProgram(['feed', 'replay', 'shop', '--from', '1'], env)).code).toBe(0);
  await until(
    async () => (await runProgram(['feed', 'list'], env)).stdout.includes('up to date'),
    60_000,
  );
  // The example has seen all of them before.
  expect(got()).toBe(5);

  example.kill('SIGKILL');
  await emit(service, 1, 1);
  await until(async () => (await runProgram(['feed', 'list'], env)).code === 3, 60_000);
  const failing = await runProgram(['feed', 'list'], env);
  expect(failing.stdout).toContain('failing: it cannot be reached (ECONNREFUSED)');
  expect(await (await fetch(daemon.url)).text()).toContain('ECONNREFUSED');
  const { stdout, stderr } = await (daemon.process.kill('SIGTERM'), daemon.ended);
  expect(stdout + stderr).not.toContain(secret.slice(6));
}, 240_000);
