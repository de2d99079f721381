import { expect, onTestFinished, test } from 'vitest';
import { startProgram } from '../support/run-cli.ts';
import { until } from '../support/until.ts';
import { openHttp } from '../support/with-http.ts';
import { withService } from '../support/with-service.ts';
import { burdenStatusPages, wantedOutcomes } from './burden-status-pages.ts';
import { openHalf } from './troublesome-clients.ts';

test('under load every request for a status page is answered, misbehaving clients cost little, and the ledger is completed meanwhile', async () => {
  const transactions = 1_500;
  const { env, query } = await withService({ transactions });
  const daemon = startProgram(['start'], { ...env, SYNC_DETAILS_EVERY: '1s' });
  const { port } = JSON.parse(await daemon.line('"listening"')) as { port: number };
  const url = `http://127.0.0.1:${port}`;
  await until(async () => (await fetch(`${url}/readyz`)).status === 200);
  const figures = await burdenStatusPages(
    { url, pid: Number(daemon.process.pid) },
    { rps: 300, seconds: 5, listeners: 60, slowReaders: 20, halfOpen: 40 },
  );
  expect(new Set(Object.keys(figures.requests.outcomes))).toEqual(new Set(wantedOutcomes));
  expect(figures.requests.sent).toBeGreaterThan(0);
  expect(figures.listeners).toEqual({ 200: 50, 503: 10 });
  expect(figures.eventKiB).toBeGreaterThan(0);
  // 64 connections of the load, 50 event stream clients, slow and silent clients, and those to database and service.
  expect(figures.most.sockets).toBeLessThan(64 + 60 + 20 + 40 + 60);
  await until(async () => {
    const [row] = await query(
      'select count(*)::int as done from ledger.transactions t where not exists (select from ledger.waiting_details w where w.order_no = t.order_no)',
    );
    return Number(row?.['done']) === transactions;
  }, 60_000);
  expect(await query('select 1 from ledger.streams where is_complete')).toHaveLength(2);
  daemon.process.kill('SIGTERM');
  expect((await daemon.ended).code).toBe(0);
}, 120_000);

test('the server ends connections with half a request or none', async () => {
  const http = await openHttp();
  onTestFinished(() => http.close());
  const halfOpen = openHalf(http.url, 50);
  onTestFinished(() => halfOpen.leave());
  await until(async () => halfOpen.stillOpen() === 0, 50_000);
  expect((await fetch(http.url)).status).toBe(200);
}, 60_000);
