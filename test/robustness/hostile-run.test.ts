import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { compiledProgram } from '../support/bundled-program.ts';
import { startProgram } from '../support/run-cli.ts';
import { scrambledRandom } from '../support/seeded-random.ts';
import { until } from '../support/until.ts';
import { withListingService } from '../support/with-listing-service.ts';
import { exceedBounds } from './exceed-bounds.ts';

/** `HOSTILE_MINUTES=30 HOSTILE_SEED=7 npx vitest run test/robustness/hostile-run.test.ts` runs for longer. */
const ms = Number(process.env['HOSTILE_MINUTES'] ?? 0.3) * 60_000;
const isAlone = process.env['HOSTILE_MINUTES'] !== undefined;
const seed = Number(process.env['HOSTILE_SEED'] ?? 1);
const memoryMaxMiB = 400;
const busyMaxMs = 250;
const settleMs = 120_000;
const rows = 300;

const goodRow = (order: number) =>
  JSON.stringify({
    orderNo: `good-${order}`,
    symbol: 'ETH',
    amount: '1.5',
    type: 'deposit',
    state: 'success',
    time: Date.UTC(2026, 0, 1) + order * 1_000,
  });

test(
  'a service that randomly exceeds every bound neither ends the daemon nor fills its memory, and good rows are stored',
  async () => {
    const { service, env, query } = await withListingService();
    const newestFirst = Array.from({ length: rows }, (_, nth) => goodRow(rows - nth));
    service.lists.set('deposit', newestFirst);
    const exceeded = exceedBounds(service, scrambledRandom(seed).next, 0.5);
    const loopFile = join(mkdtempSync(join(tmpdir(), 'wallet-ledger-loop-')), 'busy');
    const daemonEnv = {
      ...env,
      SYNC_TRANSACTIONS_EVERY: '500ms',
      SYNC_BALANCES_EVERY: '500ms',
      SYNC_ADDRESSES_EVERY: '500ms',
      // Its addresses are the most expensive to check.
      ADDRESS_POOLS: '145:1:2',
      WALLET_TIMEOUT: '5s',
      NODE_OPTIONS: `--import=${pathToFileURL('test/robustness/watch-loop.mjs').href}`,
      WATCH_LOOP_FILE: loopFile,
    };
    // Like the users' version: the bundle renames each closure, which costs extra time.
    const daemon = startProgram(['start'], daemonEnv, compiledProgram);
    await daemon.line('"listening"');
    await until(
      async () => (await query('select from ledger.sync_runs limit 3')).length === 3,
      settleMs,
    );
    writeFileSync(loopFile, '0');
    const ended = await Promise.race([
      daemon.ended.then(({ stderr }) => stderr.slice(-2_000)),
      new Promise<null>((done) => setTimeout(done, ms, null)),
    ]);
    expect(ended).toBeNull();
    // From here on the service answers correctly.
    exceedBounds(service, () => 1, 0);
    const good = `select from ledger.transactions where order_no like 'good-%' and amount = 1.5`;
    await until(async () => (await query(good)).length === rows, settleMs);
    const figures = {
      memoryMiB: Math.round(daemon.peakMemoryMiB()),
      busyMs: Number(readFileSync(loopFile, 'utf8')),
    };
    process.stdout.write(
      `${JSON.stringify({ seed, ...figures, ...Object.fromEntries(exceeded) })}\n`,
    );
    expect(figures.memoryMiB).toBeLessThan(memoryMaxMiB);
    // Next to other tests the process does not have the processor to itself: only a separate run is measured.
    if (isAlone) expect(figures.busyMs).toBeLessThan(busyMaxMs);
    daemon.process.kill('SIGTERM');
    expect((await daemon.ended).code).toBe(0);
  },
  ms + settleMs + 60_000,
);
