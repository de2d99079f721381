import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startProgram } from '../support/run-cli.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';
import { withService } from '../support/with-service.ts';

// Unique to this run, because the sandboxes of other runs on this machine have secrets of their own.
const apiSecret = `canary-secret-${randomBytes(16).toString('hex')}`;
const token = `canary-token-${randomBytes(8).toString('hex')}`;
const redisPassword = 'canary-redis-7be1';

/** Text of a file of each process on the machine, of those that still run and may be read. */
function ofAllProcesses(file: 'cmdline' | 'environ'): { pid: string; text: string }[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        return [{ pid, text: readFileSync(`/proc/${pid}/${file}`, 'latin1') }];
      } catch {
        return [];
      }
    });
}

function secretFile(name: string, text: string): string {
  const folder = temporaryFolder();
  const path = join(folder, name);
  writeFileSync(path, `${text}\n`, { mode: 0o400 });
  return path;
}

test.skipIf(process.platform !== 'linux')(
  '[S1] a secret from a file is in no command line, no environment, no page, no log line and no table',
  async () => {
    const { env, query } = await withService({ transactions: 50, apiSecret });
    const { WALLET_API_SECRET: secret = '', ...rest } = env;
    expect(secret).toBe(apiSecret);
    const daemon = startProgram(['start'], {
      ...rest,
      WALLET_API_SECRET_FILE: secretFile('secret', secret),
      HTTP_TOKEN_FILE: secretFile('token', token),
      LOG_LEVEL: 'debug',
      ADDRESS_POOLS: '60:2:4',
      SYNC_DETAILS_EVERY: '1s',
    });
    const { port } = JSON.parse(await daemon.line('"listening"')) as { port: number };
    const get = (path: string) =>
      fetch(`http://127.0.0.1:${port}${path}`, { headers: { Authorization: `Bearer ${token}` } });
    await until(async () => (await query('select 1 from ledger.addresses')).length >= 4);

    const secrets = [secret, token];
    const shows = (text: string) => secrets.filter((one) => text.includes(one));
    const own = String(daemon.process.pid);
    expect(ofAllProcesses('environ').find(({ pid }) => pid === own)?.text).toContain(
      'WALLET_API_SECRET_FILE',
    );
    // The test's own process holds the secret in its memory, not in what it was started with.
    for (const file of ['cmdline', 'environ'] as const)
      expect(ofAllProcesses(file).flatMap(({ text }) => shows(text))).toEqual([]);
    expect(shows(execFileSync('ps', ['axeww', '-o', 'args'], { encoding: 'utf8' }))).toEqual([]);
    for (const path of ['/', '/metrics', '/readyz', '/queues', '/queues/api/queues', '/status.js'])
      expect([path, shows(await (await get(path)).text())]).toEqual([path, []]);
    const tables = await query(`
      select t.relname, query_to_xml(format('select * from %s', t.oid::regclass), true, false, '')::text as rows
        from pg_class t where t.relkind = 'r' and t.relnamespace::regnamespace::text in ('ledger', 'queue', 'drizzle')`);
    expect(tables.length).toBeGreaterThan(15);
    expect(tables.flatMap(({ rows }) => shows(String(rows)))).toEqual([]);
    daemon.process.kill('SIGTERM');
    const { code, stdout, stderr } = await daemon.ended;
    expect(code).toBe(0);
    expect(stderr).toContain('"level":"debug"');
    expect(shows(stdout + stderr)).toEqual([]);
  },
  60_000,
);

test.skipIf(process.platform !== 'linux')(
  '[S1] the embedded database is started without the secrets of the environment',
  async () => {
    const { env } = await withService({ transactions: 20, apiSecret });
    const { DATABASE_URL: _, ...embedded } = env;
    const daemon = startProgram(['start'], { ...embedded, HTTP_TOKEN: token });
    await daemon.line('"listening"');
    const own = String(daemon.process.pid);
    const holders = ofAllProcesses('environ').filter(({ text }) => text.includes(apiSecret));
    // The environment of a process stays readable to its own user; its children must not have the secret.
    expect(holders.map(({ pid }) => pid)).toEqual([own]);
    expect(ofAllProcesses('cmdline').some(({ text }) => text.includes('bin/postgres'))).toBe(true);
    daemon.process.kill('SIGTERM');
    expect((await daemon.ended).code).toBe(0);
  },
  60_000,
);

test('[S2] a password in an address is in no message, whatever fails, also at LOG_LEVEL=debug', async () => {
  const { env } = await withService({ transactions: 10 });
  const failing = [
    { DATABASE_URL: `postgres://me:${token}@127.0.0.1:9/none` },
    { REDIS_URL: `redis://:${redisPassword}@127.0.0.1:9` },
    { WALLET_BASE_URL: `https://me:${token}@wallet.example.com` },
    { HTTP_HOST: 'no.such.host.invalid', HTTP_TOKEN: token },
  ];
  const ends = await Promise.all(
    failing.map(
      (change) => startProgram(['start'], { ...env, ...change, LOG_LEVEL: 'debug' }).ended,
    ),
  );
  expect(ends.map(({ code }) => code)).toEqual([5, 5, 2, 2]);
  for (const { stdout, stderr } of ends) {
    expect(stderr).toMatch(/wallet-ledger: .+; .+/);
    expect(stdout + stderr).not.toMatch(new RegExp(`${token}|${redisPassword}`));
  }
}, 60_000);

test('[S9] jobs carry a name and nothing else', async () => {
  const { env, query } = await withService({ transactions: 50 });
  const daemon = startProgram(['start'], env);
  await daemon.line('"listening"');
  await until(async () => (await query('select 1 from queue.job')).length >= 7);
  const rows = await query('select name, data::text as data from queue.job');
  expect(new Set(rows.map(({ data }) => data))).toEqual(new Set(['{}']));
  const templates = await query(
    `select coalesce(template_data, '{}')::text as data from queue.scheduler`,
  );
  expect(templates.length).toBeGreaterThanOrEqual(7);
  expect(new Set(templates.map(({ data }) => data))).toEqual(new Set(['{}']));
  daemon.process.kill('SIGTERM');
  expect((await daemon.ended).code).toBe(0);
}, 60_000);
