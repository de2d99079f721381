import { expect, onTestFinished, test } from 'vitest';
import { createPageReader } from '../../src/cli/context/create-page-reader.ts';
import { createRedactor } from '../../src/kernel/redact.ts';
import { connectLedger } from '../../src/ledger/connection/connect-ledger.ts';
import { isWritable } from '../../src/ledger/connection/read-database-facts.ts';
import { recordLog } from '../support/record-log.ts';
import { openTcpGate } from '../support/tcp-gate.ts';
import { withLedger } from '../support/with-ledger.ts';

const { connectionString } = await withLedger({ isMigrated: false });

/** A ledger whose only connection has fallen silent. */
async function openSilent() {
  const gate = await openTcpGate(connectionString);
  const { log } = recordLog();
  const own = { poolSize: 1, answerMs: 8_000, log };
  const ledger = connectLedger({ connectionString: gate.url, ...own });
  onTestFinished(async () => {
    ledger.cut();
    await gate.close();
  });
  await ledger.pool.query('select 1');
  gate.fallSilent();
  return ledger;
}

test('a page ends, and frees its connection, while the database is silent', async () => {
  const ledger = await openSilent();
  const read = createPageReader(ledger, createRedactor([]), 5_000, 500);
  const page = () => read(async (db) => (await db.execute('select 1 as one')).rows);
  await expect(page()).rejects.toThrow('the database has not answered within 0.5 s');
  expect(await page()).toEqual([{ one: 1 }]);
});

test('readiness learns within seconds that the database is silent, and then that it answers', async () => {
  const ledger = await openSilent();
  const startedAt = performance.now();
  await expect(isWritable(ledger)).rejects.toThrow();
  expect(performance.now() - startedAt).toBeLessThan(7_000);
  expect(await isWritable(ledger)).toBe(true);
});
