import { expect, test } from 'vitest';
import { runProgram, startProgram } from '../support/run-cli.ts';
import { until } from '../support/until.ts';
import { withListingService } from '../support/with-listing-service.ts';

test('[S2] a secret that the service echoes is stored nowhere, and none that was stored before is shown', async () => {
  const { service, env, query } = await withListingService();
  const secret = env['WALLET_API_SECRET'] ?? '';
  const echoes = [secret.toUpperCase(), (secret.match(/.{1,20}/g) ?? []).join(' ')];
  const shown = (text: string) => {
    const bare = text.toLowerCase().replace(/[^0-9a-z]/g, '');
    return bare.includes(secret) || bare.includes(secret.slice(8, 32));
  };
  service.lists.set('deposit', [
    JSON.stringify({ orderNo: 'o1', amount: `key ${secret}`, state: 'success', type: 'deposit' }),
  ]);
  await runProgram(['sync', 'transactions'], env);
  const rejects = await query('select reason, payload from ledger.rejects');
  expect(rejects.length).toBeGreaterThan(0);
  expect(rejects.filter((row) => shown(JSON.stringify(row)))).toEqual([]);
  service.twist = (page) => ({
    ...page,
    status: 403,
    body: JSON.stringify({ code: 10003, data: null, msg: `no: ${echoes.join(', ')}` }),
  });
  const failed = await runProgram(['sync', 'transactions'], env);
  expect([failed.code, shown(failed.stderr)]).toEqual([4, false]);
  const stored = await query(`
    select error as text from ledger.sync_runs where error is not null
    union all select last_error from ledger.streams where last_error is not null`);
  expect(stored.length).toBeGreaterThan(1);
  for (const { text } of stored) expect(text).toContain('[redacted]');
  expect(stored.filter(({ text }) => shown(String(text)))).toEqual([]);
  await query(
    `update ledger.streams set last_error = 'as an earlier version kept it: ${echoes[0]}'`,
  );
  await query(`update ledger.rejects set payload = '${echoes[1]}'`);
  for (const command of [['status'], ['status', '--json'], ['rejects', '--json']]) {
    const { stdout } = await runProgram(command, env);
    expect([command, stdout.includes('redacted'), shown(stdout)]).toEqual([command, true, false]);
  }
}, 60_000);

test('[S2] no page of a daemon shows a secret that an earlier version stored', async () => {
  const { env, query } = await withListingService();
  const secret = env['WALLET_API_SECRET'] ?? '';
  await runProgram(['migrate'], env);
  await query(`
    insert into ledger.sync_runs (job, started_at, finished_at, outcome, requests, rows_seen, rows_inserted, rows_updated, error)
    values ('earlier', now(), now(), 'failed', 1, 0, 0, 0, 'no key ${secret}');
    insert into ledger.rejects (source, order_no, field, reason, payload, fingerprint, first_seen_at, last_seen_at)
    values ('transaction-list', 'o1', 'amount', 'no ${secret}', '${secret}', 'f', now(), now());
    insert into ledger.transactions (order_no, stream, type, tx_hash, state, is_final, is_success)
    values ('o2', 'deposit', 'deposit', '${secret}', 'success', true, true)`);
  const daemon = startProgram(['start'], env);
  const { port } = JSON.parse(await daemon.line('"listening"')) as { port: number };
  const [showing, others] = [
    ['/', '/status.json', '/runs', '/rejects', '/transactions/o1', '/transactions/o2'],
    ['/metrics', '/readyz', '/problems', '/transactions', '/transactions?format=csv'],
  ];
  for (const path of [...showing, ...others]) {
    const text = await (await fetch(`http://127.0.0.1:${port}${path}`)).text();
    expect([path, text.includes(secret)]).toEqual([path, false]);
    if (showing.includes(path))
      expect([path, text]).toEqual([path, expect.stringContaining('[redacted]')]);
  }
  daemon.process.kill('SIGTERM');
  expect((await daemon.ended).code).toBe(0);
}, 60_000);

test('a secret that the service echoes in a record is not stored with its undocumented fields, and never shown', async () => {
  const { service, env, query } = await withListingService();
  const secret = env['WALLET_API_SECRET'] ?? '';
  const record = {
    ...{ orderNo: 'o1', amount: '1', state: 'success', type: 'deposit', txHash: secret },
    ...{ headers: { key: secret, parts: [secret.slice(0, 32), secret.slice(32)] }, note: 'kept' },
  };
  service.lists.set('deposit', [JSON.stringify(record)]);
  await runProgram(['sync', 'transactions'], env);
  const [stored] = await query('select extra::text from ledger.transactions');
  expect(stored?.['extra']).toContain('kept');
  expect(stored?.['extra']).not.toMatch(new RegExp(`${secret}|${secret.slice(0, 32)}`));
  const tail = startProgram(['tail', '--json'], env);
  await tail.line('following the change feed');
  await query(`select engine.emit('transaction.changed', 'o1', '{"symbol": "${secret}"}')`);
  await until(async () => {
    await query('select * from engine.sequence_events(10)');
    return (await query("select from ledger.events where key = 'o1'")).length > 0;
  });
  await tail.line('"key":"o1"');
  tail.process.kill('SIGINT');
  const shown = [
    await tail.ended,
    await runProgram(['show', 'o1'], env),
    await runProgram(['show', 'o1', '--json'], env),
  ];
  for (const { stdout } of shown) {
    expect(stdout).toContain('[redacted]');
    expect(stdout).not.toContain(secret);
  }
}, 60_000);

test('an order number with escape sequences and line ends is printed as one line of plain text', async () => {
  const { service, env } = await withListingService();
  service.lists.set('deposit', [
    JSON.stringify({
      orderNo: 'o\u001b[2J\r\n\u202e1',
      amount: '1',
      state: 'success',
      type: 'deposit',
    }),
  ]);
  await runProgram(['migrate'], env);
  const { code, stdout } = await runProgram(['verify'], env);
  expect(code).toBe(3);
  expect(stdout).toContain('missing: ');
  for (const control of ['\u001b', '\r', '\u202e']) expect(stdout).not.toContain(control);
  expect(stdout.split('\n').filter((line) => line.includes('missing: '))).toHaveLength(1);
  const json = (await runProgram(['verify', '--json'], env)).stdout;
  expect(json).not.toContain('\u202e');
  expect(JSON.parse(json).streams[0].missing).toEqual(['o\u001b[2J\r\n\u202e1']);
}, 60_000);
