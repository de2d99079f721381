import { readFileSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { queryOnce } from '../support/on-database.ts';
import { runProgram, startProgram } from '../support/run-cli.ts';
import { until } from '../support/until.ts';
import { type Service, withService } from '../support/with-service.ts';

const password = 'least-rights';

test('[S10] a daemon whose role may create nothing backfills, syncs, starts and verifies with what docs/roles.md grants', async () => {
  const { env, query } = await withService({ transactions: 400 }, { isMigrated: false });
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
  expect([unmigrated.code, unmigrated.stderr]).toEqual([
    2,
    expect.stringMatching(/permission denied for database .*`grant create on database/),
  ]);
  expect(await runProgram(['migrate'], asOwner)).toMatchObject({ code: 0 });
  await grant(asOwner.DATABASE_URL, { owner, daemon });
  await takeLocksAway(query, { owner, daemon });

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

/** Runs the owner's statements of docs/roles.md. */
async function grant(connectionString: string, roles: Roles): Promise<void> {
  const statements = documented(roles).filter((sql) => !sql.startsWith(superusers));
  await queryOnce(connectionString, statements.join('\n'));
}

/** Runs the superuser's statements of docs/roles.md: no other role may take an advisory lock then. */
async function takeLocksAway(query: Service['query'], roles: Roles): Promise<void> {
  const statements = documented(roles).filter((sql) => sql.startsWith(superusers));
  expect(statements).toHaveLength(1);
  for (const sql of statements) await query(sql);
  const rights = await query(`
    select r.role, bool_or(has_function_privilege(r.role, p.oid, 'execute')) as may
      from pg_proc p cross join (values ('pg_monitor'), ('${roles.owner}'), ('${roles.daemon}')) as r (role)
     where p.proname ~ 'advisory' and p.pronamespace = 'pg_catalog'::regnamespace
     group by r.role order by r.role = 'pg_monitor' desc`);
  expect(rights.map(({ may }) => may)).toEqual([false, true, true]);
}

const superusers = '-- As a superuser.';

function documented({ owner, daemon }: Roles): string[] {
  const blocks = readFileSync('docs/roles.md', 'utf8').matchAll(/^```sql\n(.*?)^```$/gms);
  return [...blocks].map(([, sql = '']) =>
    sql.replaceAll('wallet_owner', owner).replaceAll('wallet_daemon', daemon),
  );
}

function withUser(connectionString: string | undefined, user: string): string {
  const url = new URL(connectionString ?? '');
  url.username = user;
  url.password = password;
  return url.toString();
}
