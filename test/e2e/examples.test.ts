import { type ChildProcess, spawn } from 'node:child_process';
import { expect, onTestFinished, test } from 'vitest';
import { queryOnce } from '../support/on-database.ts';
import { runProgram, startProgram } from '../support/run-cli.ts';
import { startPostgres } from '../support/start-postgres.ts';
import { until } from '../support/until.ts';
import { type Service, withService } from '../support/with-service.ts';

const feedToken = 'feed-of-the-shop';
const shop = `shop_${process.pid}_${Date.now()}`;

type Running = { child: ChildProcess; shown(): string; ended: Promise<number | null> };

/** Runs a program of the folder `examples` with these settings alone. */
function run(file: string, args: string[], env: Record<string, string>): Running {
  const child = spawn(process.execPath, [`examples/${file}`, ...args], {
    env: { PATH: process.env['PATH'] ?? '', ...env },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let shown = '';
  for (const output of [child.stdout, child.stderr])
    output?.on('data', (part) => {
      shown += part;
    });
  const ended = new Promise<number | null>((done) => child.once('close', done));
  return { child, shown: () => shown, ended };
}

/** A service whose history and pool are in the ledger, and the address of the ledger for a role of the shop. */
async function openShop(): Promise<Service & { shopUrl: string }> {
  const service = await withService({ transactions: 60 });
  const env = { ...service.env, ADDRESS_POOLS: '60:2:5' };
  expect((await runProgram(['backfill'], env)).code).toBe(0);
  expect((await runProgram(['pool', 'refill'], env)).code).toBe(0);
  const roles = ['--reader', shop, '--issuer', shop, '--consumer', shop];
  expect((await runProgram(['migrate', ...roles], env)).code).toBe(0);
  await service.query(`alter role ${shop} login password '${shop}'`);
  await service.query(`create schema shop authorization ${shop}`);
  onTestFinished(async () => {
    await service.query(`drop owned by ${shop} cascade; drop role ${shop}`);
  });
  const url = new URL(service.env['DATABASE_URL'] ?? '');
  url.username = shop;
  url.password = shop;
  return { ...service, env, shopUrl: url.href };
}

/** Kills the program and starts it again, until it is asked to stop. */
function restartOften(start: () => Running): { shown(): string; stop(): void } {
  const all = [start()];
  const timer = setInterval(() => {
    all.at(-1)?.child.kill('SIGKILL');
    all.push(start());
  }, 1_500);
  onTestFinished(() => clearInterval(timer));
  return { shown: () => all.map((one) => one.shown()).join(''), stop: () => clearInterval(timer) };
}

test('the shops of the examples credit each deposit once and take it back, however often they are killed', async () => {
  const { env, query, sandbox, shopUrl } = await openShop();
  const other = await startPostgres();
  onTestFinished(() => other.close());
  const settings = { DATABASE_URL: shopUrl };
  expect(await run('credit-deposits.mjs', ['begin'], settings).ended).toBe(0);
  const asked = run('credit-deposits.mjs', ['address', '60', 'alice'], settings);
  expect(await asked.ended).toBe(0);
  const toAddress = asked.shown().trim();
  expect(toAddress).toMatch(/^0x/);

  const daemon = startProgram(['start'], {
    ...env,
    FEED_TOKEN: feedToken,
    SYNC_TRANSACTIONS_EVERY: '1s',
    SYNC_DETAILS_EVERY: '1s',
  });
  const { port } = JSON.parse(await daemon.line('"listening"')) as { port: number };
  const follower = restartOften(() => run('credit-deposits.mjs', ['follow'], settings));
  const remote = restartOften(() =>
    run('credit-by-http.mjs', [], {
      SHOP_DATABASE_URL: other.connectionString,
      FEED_URL: `http://127.0.0.1:${port}/feed`,
      FEED_TOKEN: feedToken,
    }),
  );

  const deposit = (state: string) =>
    sandbox.world.addTransactions(1, { type: 'deposit', state, toAddress })[0] ?? '';
  const first = deposit('pending');
  await until(async () => follower.shown().includes('on the way'), 60_000);
  sandbox.world.setState(first, 'success');
  for (let count = 0; count < 12; count += 1) deposit(count % 4 === 0 ? 'failed' : 'success');
  const credits = 'select order_no, customer, symbol, amount::text from shop.credits order by 1';
  const truth = () =>
    query(`select order_no, 'alice' as customer, symbol, amount::text from ledger.transactions
            where to_address = '${toAddress}' and state = 'success' order by 1`);
  const areRight = async (count: number) => {
    const [here, there, right] = [
      await query(credits),
      await queryOnce(other.connectionString, credits),
      await truth(),
    ];
    return (
      right.length === count &&
      [here, there].every((one) => JSON.stringify(one) === JSON.stringify(right))
    );
  };
  await until(() => areRight(10), 90_000);
  sandbox.world.setState(first, 'failed');
  await until(async () => follower.shown().includes('taken back'), 60_000);
  await until(() => areRight(9), 60_000);
  follower.stop();
  remote.stop();
  daemon.process.kill('SIGTERM');
  expect(await daemon.ended).toMatchObject({ code: 0 });
}, 300_000);
