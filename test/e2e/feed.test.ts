import { expect, onTestFinished, test } from 'vitest';
import { runProgram, startProgram } from '../support/run-cli.ts';
import { until } from '../support/until.ts';
import { type Service, withService } from '../support/with-service.ts';

const feedToken = 'feed-of-this-test';

/** A daemon whose first pass is over, and the address of its feed. */
async function startDaemon({ env, query }: Service) {
  const daemon = startProgram(['start'], {
    ...env,
    FEED_TOKEN: feedToken,
    SYNC_TRANSACTIONS_EVERY: '1s',
    SYNC_DETAILS_EVERY: '1s',
  });
  const { port } = JSON.parse(await daemon.line('"listening"')) as { port: number };
  await until(
    async () =>
      (await query(`select from ledger.events where kind = 'stream.complete'`)).length > 1,
    60_000,
  );
  return { ...daemon, url: `http://127.0.0.1:${port}/feed` };
}

/** Follows the stream; `text` is what the client has received so far. */
function follow(url: string): { text: string } {
  const leaving = new AbortController();
  onTestFinished(() => leaving.abort());
  const received = { text: '' };
  const read = async () => {
    const headers = { Authorization: `Bearer ${feedToken}` };
    const answer = await fetch(url, { headers, signal: leaving.signal });
    for await (const part of answer.body ?? []) received.text += new TextDecoder().decode(part);
  };
  void read().catch(() => undefined);
  return received;
}

test('a new deposit is on the feed of the daemon and on the terminal, from its first sight to its end', async () => {
  const service = await withService({ transactions: 150 });
  expect((await runProgram(['backfill'], service.env)).code).toBe(0);
  const daemon = await startDaemon(service);
  expect(await service.query(`select from ledger.events where kind like 'transaction.%'`)).toEqual(
    [],
  );
  const tails = [
    startProgram(['tail'], service.env),
    startProgram(['tail', '--json'], service.env),
  ];
  for (const { line } of tails) await line('following the change feed');
  const stream = follow(`${daemon.url}/stream`);

  const [orderNo = ''] = service.sandbox.world.addTransactions(1, {
    type: 'deposit',
    state: 'pending',
  });
  await until(async () => stream.text.includes('transaction.seen'), 30_000);
  service.sandbox.world.setState(orderNo, 'success');
  await until(async () => stream.text.includes('transaction.final'), 60_000);
  for (const { line } of tails) await line('transaction.final');

  const final = stream.text.split('\n').find((line) => line.includes('transaction.final')) ?? '';
  const { key, data } = JSON.parse(final.replace('data: ', ''));
  expect(key).toBe(orderNo);
  expect(data).toMatchObject({ order_no: orderNo, is_final: true, is_success: true });
  for (const { process } of tails) process.kill('SIGINT');
  const [shown, printed] = await Promise.all(tails.map(({ ended }) => ended));
  expect([shown?.code, printed?.code]).toEqual([0, 0]);
  expect(shown?.stdout).toContain(
    `${data.amount}  success     ${orderNo}  transaction.final deposit`,
  );
  expect(printed?.stdout.split('\n')).toContain(final.replace('data: ', ''));
  daemon.process.kill('SIGTERM');
  expect(await daemon.ended).toMatchObject({ code: 0 });
}, 180_000);

test('tail ends quietly when the reader of its output leaves', async () => {
  const service = await withService({ transactions: 10 });
  expect((await runProgram(['backfill'], service.env)).code).toBe(0);
  const { process: child, line, ended } = startProgram(['tail'], service.env);
  await line('following the change feed');
  child.stdout?.destroy();
  await service.query(`select engine.emit('k', 'k', '{}')`);
  await service.query('select * from engine.sequence_events(10)');
  await until(async () => {
    await service.query(`select engine.emit('k', 'k', '{}')`);
    await service.query('select * from engine.sequence_events(10)');
    return child.exitCode !== null;
  });
  const { code, stderr } = await ended;
  expect(code).toBe(0);
  expect(stderr).not.toContain('EPIPE');
}, 90_000);

test('what one-off commands write is on the feed without a daemon, and is counted while it waits', async () => {
  const { sandbox, env, query } = await withService({ transactions: 20 });
  expect((await runProgram(['backfill'], env)).code).toBe(0);
  const kinds = async () =>
    (await query('select distinct kind from ledger.events order by 1')).map(({ kind }) => kind);
  expect(await kinds()).toEqual(expect.arrayContaining(['balance.changed', 'stream.complete']));
  sandbox.world.addTransactions(1, { type: 'deposit', state: 'pending' });
  expect((await runProgram(['sync', 'transactions'], env)).code).toBe(0);
  expect(await kinds()).toContain('transaction.seen');
  expect(await query('select from engine.outbox')).toEqual([]);

  await query(`select ledger.ack_events('books', ledger.events_head())`);
  await query(`select engine.emit('k', 'k', '{}')`);
  const { stdout } = await runProgram(['feed', 'list'], env);
  expect(stdout).toContain('1 event behind');
}, 90_000);
