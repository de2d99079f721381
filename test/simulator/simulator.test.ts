import { describe, expect, test } from 'vitest';
import { LedgerError } from '../../src/kernel/errors.ts';
import { createListSession } from '../../src/sync/list/list-session.ts';
import { pollList } from '../../src/sync/list/poll-list.ts';
import { allScenarios } from './all-scenarios.ts';
import { backoffScenario } from './backoff-scenario.ts';
import { fenceScenario } from './fence-scenario.ts';
import { poolScenario, scarcePoolScenario } from './pool-scenario.ts';
import { runDays, runScenario, type ScenarioReport } from './run-scenario.ts';
import type { ScenarioName } from './scenario.ts';
import { walkScenario } from './walk-scenario.ts';
import { watchdogScenario } from './watchdog-scenario.ts';

/** As many as fit into a second or two for each scenario. */
const interleavings: Record<ScenarioName, number> = {
  walk: 3_000,
  fence: 1_000,
  pool: 1_000,
  watchdog: 1_500,
  backoff: 400,
};
const names = Object.keys(interleavings) as ScenarioName[];
const timeoutMs = 120_000;

describe('no interleaving breaks a guarantee', () => {
  test.each(names.filter((name) => name !== 'pool'))(
    '%s',
    async (name) => {
      const report = await allScenarios[name]({ seed: 1, interleavings: interleavings[name] });
      expect(report).toMatchObject({ interleavings: interleavings[name], failure: null });
    },
    timeoutMs,
  );

  const playPool = async (scenario: typeof poolScenario) => {
    const report = await runScenario(scenario, { seed: 1, interleavings: interleavings.pool });
    expect(report).toMatchObject({ interleavings: interleavings.pool, failure: null });
  };

  test(
    '[A1 A2 A3 A5 A6 A7] lost answers, refusals, crashes at every step, two processes, a lagging list: no address is lost or requested twice',
    () => playPool(poolScenario),
    timeoutMs,
  );

  test(
    '[A8] the daily ceiling is never exceeded, whatever answers are lost and however late the list shows the addresses',
    () => playPool(scarcePoolScenario),
    timeoutMs,
  );

  /** Answers out of order taken for a proof, and a difference accepted for rows that arrived after the scan. */
  test.each([4_962, 104_307, 11_221])(
    'walk with seed %i, which once broke a guarantee',
    async (seed) => {
      expect((await allScenarios.walk({ seed, interleavings: 1 })).failure).toBeNull();
    },
  );

  test(
    'thirty days of schedules, with flushes, crashes and clock jumps',
    async () => {
      const report = await runDays(1, 30);
      expect(report.failure).toBeNull();
      expect(report.simulatedMs).toBeGreaterThan(30 * 86_400_000);
    },
    timeoutMs,
  );
});

test('the same seed gives the same run', async () => {
  const play = async () => {
    const { steps, simulatedMs } = await runScenario(poolScenario, { seed: 77, interleavings: 50 });
    return { steps, simulatedMs };
  };
  expect(await play()).toEqual(await play());
});

/** Finds each wrong decision within the number of interleavings that the right decisions pass. */
describe('the simulator finds a wrong decision:', () => {
  const options = (name: ScenarioName) => ({ seed: 1, interleavings: interleavings[name] });
  const words = (report: ScenarioReport) =>
    report.failure?.violations.join() ?? 'nothing was found';

  test('a full scan that takes equal counts as a proof', async () => {
    const report = await runScenario(walkScenario, options('walk'), {
      async readList(port, state) {
        const { isSettled: isComplete } = await pollList(
          createListSession(port, { ...state, isBacked: true }),
        );
        return { isComplete, isPaused: false, missing: isComplete ? 0 : 1 };
      },
    });
    expect(words(report)).toMatch(/missing|not proven/);
  });

  test('a fence that lets the earlier answer win', async () => {
    const report = await runScenario(fenceScenario, options('fence'), {
      mayOverwrite: (incoming, stored) => incoming < stored,
    });
    expect(words(report)).toMatch(/overwrote/);
  });

  test('a fence that lets the last writer win', async () => {
    const report = await runScenario(fenceScenario, options('fence'), { mayOverwrite: () => true });
    expect(words(report)).toMatch(/overwrote/);
  });

  test('a worker that never fetches details', async () => {
    const report = await runScenario(fenceScenario, options('fence'), {
      syncDetails: async () => ({ rowsSeen: 0, rowsInserted: 0, rowsUpdated: 0, isComplete: true }),
    });
    expect(words(report)).toMatch(/not complete/);
  });

  test('a pool that requests again before it has read the list', async () => {
    const report = await runScenario(poolScenario, options('pool'), {
      fillPools(context, fill) {
        const { client } = context;
        const generateAddresses: typeof client.generateAddresses = (request, signal) =>
          client.generateAddresses(request, signal).catch((error) => {
            throw new LedgerError('service-refused', String(error));
          });
        return poolScenario.decisions.fillPools(
          { ...context, client: { ...client, generateAddresses } },
          fill,
        );
      },
    });
    expect(words(report)).toMatch(/more was asked for|ceiling/);
  });

  test('a pool without a ceiling', async () => {
    const report = await runScenario(poolScenario, options('pool'), {
      fillPools(context, fill) {
        const pools = { ...context.settings.pools, maxPerDay: 10_000 };
        return poolScenario.decisions.fillPools(
          { ...context, settings: { ...context.settings, pools } },
          fill,
        );
      },
    });
    expect(words(report)).toMatch(/ceiling/);
  });

  test('a watchdog that never repairs', async () => {
    const wrong = { keepSchedules: async () => undefined };
    expect(words(await runScenario(watchdogScenario, options('watchdog'), wrong))).toMatch(
      /schedule/,
    );
    expect(words(await runDays(1, 30, wrong))).toMatch(/schedule/);
  });

  test.each([
    [
      'a back-off without a cap',
      { attemptsMax: 8, delayMaxMs: Number.POSITIVE_INFINITY },
      /waited/,
    ],
    ['a back-off that tries once more', { attemptsMax: 9, delayMaxMs: 5_000 }, /9 attempts/],
  ])('%s', async (_, policy, expected) => {
    const retry = { baseDelayMs: 150, ...policy };
    expect(words(await runScenario(backoffScenario, options('backoff'), { retry }))).toMatch(
      expected,
    );
  });
});
