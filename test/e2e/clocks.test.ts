import { accessSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { rowsOfLedger, rowsOfService } from '../support/compare-rows.ts';
import { startProgram } from '../support/run-cli.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';
import { withService } from '../support/with-service.ts';

/** Where Linux distributions put libfaketime. */
const library = [
  '/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1',
  '/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1',
  '/usr/lib/faketime/libfaketimeMT.so.1',
  '/usr/lib64/faketime/libfaketimeMT.so.1',
].find((path) => {
  try {
    accessSync(path);
    return true;
  } catch {
    return false;
  }
});

const often = { SYNC_TRANSACTIONS_EVERY: '1s', SYNC_DETAILS_EVERY: '1s' };

/** A clock that can be set while the program runs; timers go on as ever. */
function settableClock(setting: string) {
  const folder = temporaryFolder();
  const file = join(folder, 'clock');
  const set = (text: string) => writeFileSync(file, `${text}\n`);
  set(setting);
  return {
    set,
    env: {
      LD_PRELOAD: library ?? '',
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    },
  };
}

/** The time of a line of the log, in Unix ms. */
function timesOf(line: string): number[] {
  const time = /"time":"([^"]+)"/.exec(line)?.[1];
  return time === undefined ? [] : [Date.parse(time)];
}

test.skipIf(!library)(
  '[Q10] a clock that runs an hour ahead, then an hour behind, then right: what arrives is in the ledger all the while (with libfaketime)',
  async () => {
    const { sandbox, env, query } = await withService({ transactions: 100 });
    const clock = settableClock('+0');
    const right = startProgram(['start'], { ...env, ...often });
    const wrong = startProgram(['start'], { ...env, ...often, ...clock.env, LOG_LEVEL: 'debug' });
    await Promise.all([right, wrong].map((daemon) => daemon.line('"listening"')));
    const isInStep = async () => {
      const [row] = await query(
        'select count(*)::int as n from ledger.transactions t where not exists (select from ledger.waiting_details w where w.order_no = t.order_no)',
      );
      return Number(row?.['n']) === sandbox.world.transactions().length;
    };
    await until(isInStep, 60_000);
    for (const setting of ['+3600', '-3600', '+0']) {
      clock.set(setting);
      for (let arrival = 0; arrival < 3; arrival += 1) {
        sandbox.world.addTransactions(5, { type: 'deposit' });
        await until(isInStep, 120_000);
      }
    }
    expect(wrong.process.exitCode).toBeNull();
    expect(await rowsOfLedger(query)).toEqual(rowsOfService(sandbox));
    expect(await query(`select from ledger.sync_runs where outcome = 'failed'`)).toEqual([]);
    for (const daemon of [right, wrong]) daemon.process.kill('SIGTERM');
    const ends = await Promise.all([right.ended, wrong.ended]);
    expect(ends.map(({ code }) => code)).toEqual([0, 0]);
    const hours = (ends[1]?.stderr ?? '')
      .split('\n')
      .flatMap((line) => timesOf(line))
      .map((time) => Math.round((time - Date.now()) / 3_600_000));
    expect(new Set(hours)).toEqual(new Set([0, 1, -1]));
  },
  400_000,
);

test.skipIf(!library)(
  '[Q11] the end of summer time, of a year and of 32-bit seconds pass unnoticed (with libfaketime)',
  async () => {
    const moments = ['2026-10-25T01:00:00Z', '2027-12-31T23:00:00Z', '2038-01-19T03:14:08Z'];
    await Promise.all(
      moments.map(async (moment) => {
        const offset = Math.round((Date.parse(moment) - 10_000 - Date.now()) / 1_000);
        const clock = () => Date.now() + offset * 1_000;
        const { sandbox, env, query } = await withService({ transactions: 60, clock });
        const daemon = startProgram(['start'], {
          ...env,
          ...often,
          ...settableClock(`${offset < 0 ? '' : '+'}${offset}`).env,
          TZ: 'Europe/Berlin',
          LOG_LEVEL: 'debug',
        });
        await daemon.line('"listening"');
        while (clock() < Date.parse(moment) + 4_000) {
          sandbox.world.addTransactions(2, { type: 'deposit' });
          await until(async () => {
            const [row] = await query(
              'select count(*)::int as n from ledger.transactions t where not exists (select from ledger.waiting_details w where w.order_no = t.order_no)',
            );
            return Number(row?.['n']) === sandbox.world.transactions().length;
          }, 60_000);
        }
        expect(await rowsOfLedger(query)).toEqual(rowsOfService(sandbox));
        daemon.process.kill('SIGTERM');
        const { code, stderr } = await daemon.ended;
        expect(code).toBe(0);
        const times = stderr.split('\n').flatMap((line) => timesOf(line));
        expect(Math.min(...times)).toBeLessThan(Date.parse(moment));
        expect(Math.max(...times)).toBeGreaterThan(Date.parse(moment));
      }),
    );
  },
  150_000,
);
