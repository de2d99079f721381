import { expect, onTestFinished, test } from 'vitest';
import { silentLog } from '../../src/kernel/log.ts';
import { keepListening } from '../../src/ledger/connection/keep-listening.ts';
import { onDatabase } from '../support/on-database.ts';
import { until } from '../support/until.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger, connectionString } = await withLedger();
const channel = 'ledger_flood';

test('few of a flood of notifications wake the listener, and the last one always does', async () => {
  const sent = { count: 0 };
  const heard: number[] = [];
  const listening = keepListening({
    ledger,
    channels: { [channel]: () => void heard.push(sent.count) },
    log: silentLog,
  });
  onTestFinished(() => listening.close());
  await until(async () => heard.length > 0);
  const startedAt = performance.now();
  await onDatabase(connectionString, async (stranger) => {
    for (; sent.count < 1_000; sent.count += 1)
      await stranger.query(`select pg_notify('${channel}', 'x${sent.count}')`);
  });
  await until(async () => heard.at(-1) === 1_000);
  const elapsedMs = performance.now() - startedAt;
  expect(heard.length).toBeLessThan(5 + elapsedMs / 20);
  // A single notification is heard as before.
  const before = heard.length;
  await onDatabase(connectionString, async (stranger) => {
    await stranger.query(`notify ${channel}`);
  });
  await until(async () => heard.length === before + 1);
});
