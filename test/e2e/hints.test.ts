import { expect, test } from 'vitest';
import { runProgram, startProgram } from '../support/run-cli.ts';
import { until } from '../support/until.ts';
import { type Service, withService } from '../support/with-service.ts';

const hintToken = 'hints-of-this-test';

/** A daemon that reads its lists once a minute, and the address of its hints. */
async function startDaemon({ env }: Service, change: Record<string, string> = {}) {
  const daemon = startProgram(['start'], {
    ...env,
    HINT_TOKEN: hintToken,
    SYNC_TRANSACTIONS_EVERY: '1m',
    SYNC_DETAILS_EVERY: '1m',
    AUDIT_EVERY: 'off',
    ...change,
  });
  const { port } = JSON.parse(await daemon.line('"listening"')) as { port: number };
  return { ...daemon, port, hintUrl: `http://127.0.0.1:${port}/hint/${hintToken}` };
}

/** A service whose history is in the ledger. */
async function backfilled(transactions: number): Promise<Service> {
  const service = await withService({ transactions });
  expect((await runProgram(['backfill'], service.env)).code).toBe(0);
  return service;
}

/** Waits for the daemon's first pass, which is not caused by a hint. */
async function untilRead({ query, sandbox }: Service): Promise<void> {
  const runs = `select from ledger.sync_runs where job = 'transactions'`;
  await until(async () => (await query(runs)).length === 2);
  sandbox.stats.reset();
}

const hasDetail =
  ({ query }: Service, orderNo: string) =>
  async () =>
    (
      await query(
        `select from ledger.transactions where order_no = '${orderNo}' and detail_synced_at is not null`,
      )
    ).length === 1;

test('of two daemons either takes a hint, by HTTP and in SQL, and the row is there with its detail long before the next pass', async () => {
  const service = await backfilled(200);
  const daemons = [await startDaemon(service), await startDaemon(service)];
  await untilRead(service);
  const ways = [
    ...daemons.map(({ hintUrl }) => async (orderNo: string) => {
      const answer = await fetch(hintUrl, { method: 'POST', body: JSON.stringify({ orderNo }) });
      expect(answer.status).toBe(202);
    }),
    async (orderNo: string) => {
      await service.query(`select ledger.hint('{${orderNo}}')`);
    },
  ];
  for (const hint of ways) {
    const [orderNo = ''] = service.sandbox.world.addTransactions(1);
    await hint(orderNo);
    await until(hasDetail(service, orderNo), 10_000);
  }
  const { listRequests, requests } = service.sandbox.stats;
  expect(listRequests).toEqual({ deposit: 3, withdraw: 3, all: 0 });
  expect(requests['/v1/transaction/info']).toBe(3);
  const metrics = await fetch(`http://127.0.0.1:${daemons[0]?.port}/metrics`);
  expect(await metrics.text()).toContain('wallet_ledger_hints_total{outcome="accepted"} 1');
  for (const { process } of daemons) process.kill('SIGTERM');
  for (const { ended } of daemons) {
    const { code, stdout, stderr } = await ended;
    expect(code).toBe(0);
    expect(stdout + stderr).not.toContain(hintToken);
  }
}, 90_000);

test('the sandbox pushes what is new or changes, and a daemon shows it', async () => {
  const service = await backfilled(100);
  const { hintUrl } = await startDaemon(service);
  await untilRead(service);
  service.sandbox.pushTo(hintUrl);
  const [orderNo = ''] = service.sandbox.world.addTransactions(1, {
    type: 'withdraw',
    state: 'pending',
  });
  await until(hasDetail(service, orderNo), 10_000);
  service.sandbox.world.setState(orderNo, 'success');
  const isFinal = `select from ledger.transactions where order_no = '${orderNo}' and is_final`;
  await until(async () => (await service.query(isFinal)).length === 1, 15_000);
  expect(service.sandbox.stats.pushes).toEqual({ sent: 2, failed: 0 });
  service.sandbox.pushTo(`${hintUrl}x`);
  service.sandbox.world.addTransactions(1);
  await until(async () => service.sandbox.stats.pushes.failed === 1);
}, 90_000);
