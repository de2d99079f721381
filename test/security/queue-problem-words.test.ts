import { Client } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { startProgram } from '../support/run-cli.ts';
import { until } from '../support/until.ts';
import { withService } from '../support/with-service.ts';

test('a problem of the queue that quotes a secret is stored without it', async () => {
  const { env, query } = await withService({ transactions: 0 });
  const token = 'a-token-that-somebody-pasted';
  const daemon = startProgram(['start'], { ...env, HTTP_TOKEN: token });
  await daemon.line('"listening"');
  const stranger = new Client({
    connectionString: env['DATABASE_URL'],
    application_name: `tool ${token}`,
  });
  await stranger.connect();
  onTestFinished(() => stranger.end());
  await stranger.query(
    `select pg_advisory_lock(hashtext('bullmq:finalization'), hashtext('wallet-ledger'))`,
  );
  const stored = () => query(`select what from engine.queue_problems where name = 'queue_held'`);
  await until(async () => (await stored()).length === 1, 90_000);
  expect(await stored()).toEqual([
    { what: expect.stringContaining('application tool [redacted]') },
  ]);
  daemon.process.kill('SIGTERM');
  await daemon.ended;
}, 150_000);
