import { expect, test } from 'vitest';
import { startProgram } from '../support/run-cli.ts';
import { until } from '../support/until.ts';
import { withService } from '../support/with-service.ts';

test('the daemon that heals a move fills the pools at once, not at their next time', async () => {
  const { env, query } = await withService({ transactions: 0, signer: 'params-hmac', settleMs: 0 });
  const daemon = startProgram(['start'], {
    ...env,
    ADDRESS_POOLS: '60:5:10',
    FILL_POOLS_EVERY: '1h',
    HTTP_PORT: '0',
    POOL_SETTLE: '0s',
    SYNC_DETAILS_EVERY: '1s',
  });
  const isFilled = async () => {
    const [level] = await query('select available::int as n from ledger.pool_levels');
    const [home] = await query('select engine.home_state() as away');
    return home?.['away'] === null && level?.['n'] === 10;
  };
  await until(isFilled, 60_000);
  for (const reason of ['a snapshot was put back', 'and another one']) {
    await query(`select engine.disturb_home('${reason}')`);
    await until(isFilled, 60_000);
  }
  expect(await query('select count(*)::int as n from engine.moves')).toEqual([{ n: 2 }]);
  daemon.process.kill('SIGTERM');
  await daemon.ended;
}, 180_000);
