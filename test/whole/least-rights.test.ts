import { readFileSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { queryOnce } from '../support/on-database.ts';
import { runProgram, startProgram } from '../support/run-cli.ts';
import { until } from '../support/until.ts';
import { type Service, withService } from '../support/with-service.ts';

const password = 'least-rights';

test('[S10] a daemon whose role may create nothing backfills, syncs, starts and verifies with what docs/roles.md grants', async () => {
  const { env, query } = await withService({ transactions: 400 });
  const { owner, daemon } = await makeRoles(query);
  const asOwner = { ...env, DATABASE_URL: withUser(env['DATABASE_URL'], owner) };
  const settings = {
    ...env,
    DATABASE_URL: withUser(env['DATABASE_URL'], daemon),
    ADDRESS_POOLS: '60:5:20',
    POOL_SETTLE: '1s',
    SYNC_COINS_EVERY: '1s',
    AUDIT_EVERY: '1s',
  };
  const unmigrated = await runProgram(['sync'], settings);
  expect([unmigrated.code, unmigrated.stderr]).toEqual([1, expect.stringContaining('permission')]);
  expect(await runProgram(['migrate'], asOwner)).toMatchObject({ code: 0 });
  await grant(asOwner.DATABASE_URL, { owner, daemon });

  for (const command of [['backfill'], ['sync'], ['verify'], ['status'], ['pool', 'take', '60']]) {
    const { code, stderr } = await runProgram(command, settings);
    expect([command, code, stderr]).toEqual([command, 0, stderr]);
  }
  expect(await rightsOf(settings)).toMatchObject({ verdict: 'warning' });
  await query('delete from ledger.sync_runs');
  const running = startProgram(['start'], settings);
  await running.line('"listening"');
  await until(async () => {
    const done = await query(`select distinct job from ledger.sync_runs where outcome = 'done'`);
    const jobs = done.map(({ job }) => job);
    return ['transactions', 'balances', 'coins', 'addresses', 'audit'].every((job) =>
      jobs.includes(job),
    );
  });
  running.process.kill('SIGTERM');
  const { code, stderr, stdout } = await running.ended;
  expect(code).toBe(0);
  expect(stderr + stdout).not.toContain('permission denied');
  expect(await query(`select from ledger.sync_runs where outcome = 'failed'`)).toEqual([]);
  expect(await query(`select relname from pg_class where relowner = '${daemon}'::regrole`)).toEqual(
    [],
  );
  await query(
    `revoke usage on sequence ledger.observations from ${daemon}; revoke delete on queue.job from ${daemon};
     revoke select on drizzle.__drizzle_migrations from ${daemon}`,
  );
  const { verdict, seen } = await rightsOf(settings);
  expect([verdict, seen]).toEqual([
    'bad',
    'the role may not use drizzle.__drizzle_migrations, ledger.observations, queue.job',
  ]);
}, 120_000);

async function rightsOf(env: Record<string, string>) {
  const { stdout } = await runProgram(['doctor', '--json'], env);
  const { checks } = JSON.parse(stdout) as {
    checks: { name: string; verdict: string; seen: string }[];
  };
  return checks.find(({ name }) => name === 'database-rights') ?? { verdict: '', seen: stdout };
}

type Roles = { owner: string; daemon: string };

/** Nobody but the owner may create anything in the database, and temporary tables are all that PUBLIC may have. */
async function makeRoles(query: Service['query']): Promise<Roles> {
  const unique = `${process.pid}_${Date.now()}`;
  const roles = { owner: `wallet_owner_${unique}`, daemon: `wallet_daemon_${unique}` };
  const [row] = await query('select quote_ident(current_database()) as database');
  for (const role of Object.values(roles))
    await query(`create role ${role} login password '${password}'`);
  onTestFinished(async () => {
    for (const role of Object.values(roles))
      await query(`drop owned by ${role} cascade; drop role ${role}`);
  });
  await query(`revoke create on database ${row?.['database']} from public;
    revoke create on schema public from public;
    grant create on database ${row?.['database']} to ${roles.owner}`);
  return roles;
}

/** Runs the statements of docs/roles.md as the owner. */
async function grant(connectionString: string, { owner, daemon }: Roles): Promise<void> {
  const blocks = readFileSync('docs/roles.md', 'utf8').matchAll(/^```sql\n(.*?)^```$/gms);
  const statements = [...blocks].map(([, sql = '']) => sql).join('\n');
  await queryOnce(
    connectionString,
    statements.replaceAll('wallet_owner', owner).replaceAll('wallet_daemon', daemon),
  );
}

function withUser(connectionString: string | undefined, user: string): string {
  const url = new URL(connectionString ?? '');
  url.username = user;
  url.password = password;
  return url.toString();
}
