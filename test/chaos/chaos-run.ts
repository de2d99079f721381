import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { seededRandom } from '../support/seeded-random.ts';
import type { ChaosOptions } from './chaos-options.ts';
import { replayLine } from './chaos-options.ts';
import { runChecks } from './checks/run-checks.ts';
import { converge, restOf } from './converge.ts';
import { describeRun } from './describe-run.ts';
import { planFaults } from './fault-schedule.ts';
import { type FollowedFeed, followFeed } from './feed/follow-feed.ts';
import { judgeBooks, judges } from './judge-books.ts';
import { judgeExits } from './judge-exits.ts';
import { type Living, startLiving } from './living.ts';
import { makeFaults } from './make-faults.ts';
import { findMissingSum } from './missing-sum.ts';
import { type KillSwitch, type OpenWorld, openWorld } from './open-world.ts';
import { type ChaosOutcome, type Invariant, invariant } from './report.ts';
import { watchResources } from './resources.ts';
import { chooseSettings, type RunSettings } from './run-settings.ts';
import { scanLogs } from './scan-logs.ts';
import { watchProofs } from './watch-proofs.ts';

const oneOffEndMs = 60_000;
const readyMaxMs = 60_000;
const lastWordsShown = 400;

/** Makes one run, from an empty folder to its outcome. `signal` ends its faults early; the later steps still run. */
export async function runChaos(
  options: ChaosOptions,
  tools: { say(line: string): void; killSwitch: KillSwitch; signal: AbortSignal },
): Promise<ChaosOutcome> {
  const feed = options.hasFeed ? await followFeed(options.seed) : null;
  const settings = chooseSettings(options);
  Object.assign(settings.env, feed?.env);
  const world = await openWorld(options, settings, tools.killSwitch);
  const watch = watchResources(() =>
    world.fleet.members().map((member) => ({ name: member.name, pid: member.pid() })),
  );
  try {
    await untilStarted(world);
    const living = startLiving({
      oracle: world.oracle,
      consumers: world.consumers,
      slip44s: settings.slip44s,
      seed: options.seed,
      pace: settings.consumers,
      lifePauseMs: settings.lifePauseMs,
    });
    feed?.start(world.consumers);
    const proofs = watchProofs(world.database, world.oracle);
    const plan = planFaults(options, world.offers);
    const made = await makeFaults({ world, plan, options, living, ...tools });
    tools.say('faults are over; waiting for the ledger to be complete');
    Object.assign(world.http.rates, { bad: 0, lostPost: 0, unsentPost: 0, isAway: false });
    await living.stop();
    world.oracle.settle();
    const check = () => checkLedger(world, settings, { living, hasMoved: hasMoved(options) });
    const restMs = restOf(options.minutes, settings.history);
    const converged = await converge(world.probes, check, { restMs, say: tools.say });
    const told = feed ? await hearAll(world, feed) : [];
    const stopped = await stopAll(world);
    await proofs.stop();
    const invariants: Invariant[] = [
      converged,
      stopped,
      await verify(world),
      ...(await check()),
      ...told,
      ...(options.hasBooks ? [await judgeExports(world, options.out)] : []),
      await loseSum(world, settings, options.seed),
      invariant(
        'proofs.true',
        `No list called complete but as the service has shown it, in ${proofs.compared} comparisons`,
        proofs.falseProofs,
      ),
      invariant('exits.explained', 'Every end of a process is one that the contract names', [
        ...judgeExits(world.fleet.exits, made.outages).map(({ exit, reason }) => ({
          reason,
          ...exit,
          lastWords: exit.lastWords.slice(-lastWordsShown),
        })),
      ]),
      invariant(
        'consumers.once',
        hasMoved(options)
          ? 'No address went to two references'
          : 'No address went to two references, and a reference always got the same one',
        hasMoved(options)
          ? living.wrongAddresses
          : [...living.wrongAddresses, ...living.changedAddresses],
      ),
      invariant(
        'consumers.own',
        'No consumer was handed an address that the program did not have generated',
        living.taken().filter(({ slip44, address }) => !world.oracle.isGenerated(slip44, address)),
      ),
    ];
    await world.fleet.close();
    const findings = await scanLogs(logsOf(options.out), {
      WALLET_API_SECRET: world.oracle.privateKey,
      'the password of the database': world.cluster.password,
      ...feed?.secrets,
    });
    invariants.push(
      invariant('logs.clean', 'No log shows a secret or an error that nobody caught', findings),
    );
    return describeRun({
      ...{ options, world, plan, made, living, invariants },
      resources: watch.figures(),
      replay: replayLine(options),
    });
  } finally {
    watch.stop();
    await feed?.close();
    await world.close();
  }
}

/** The ledger was restored to an earlier state: later facts are lost. */
function hasMoved({ focus }: ChaosOptions): boolean {
  return focus === 'moves';
}

/** Faults before the schema exists would test only the first start. */
async function untilStarted({ fleet }: OpenWorld): Promise<void> {
  const giveUpAt = performance.now() + readyMaxMs;
  while (!fleet.daemons.every((daemon) => daemon.isStarted())) {
    if (performance.now() > giveUpAt) throw new Error('the daemons do not start');
    await delay(100);
  }
  fleet.refill.revive();
}

async function checkLedger(
  { oracle, database }: OpenWorld,
  settings: RunSettings,
  { living, hasMoved }: { living: Living; hasMoved: boolean },
): Promise<Invariant[]> {
  await oracle.writeTruth(database);
  return await runChecks(database, {
    poolMaxPerDay: settings.poolMaxPerDay,
    maxRps: settings.maxRps,
    taken: living.taken(),
    hasMoved,
  });
}

/** Stops the daemons with SIGTERM; the one-off commands end by themselves, as nothing disturbs them any more. */
async function stopAll({ fleet }: OpenWorld): Promise<Invariant> {
  fleet.retire();
  await Promise.all(fleet.daemons.map((daemon) => daemon.end('SIGTERM')));
  const running = () =>
    [fleet.backfill, fleet.refill].filter((member) => member.pid() !== undefined);
  const giveUpAt = performance.now() + oneOffEndMs;
  while (running().length > 0 && performance.now() < giveUpAt) await delay(100);
  const hanging = running();
  const names = hanging.map(({ name }) => name);
  await Promise.all(hanging.map((member) => member.end('SIGKILL')));
  return invariant(
    'commands.end',
    'A one-off command that nothing disturbs comes to its end',
    names,
  );
}

async function verify({ fleet }: OpenWorld): Promise<Invariant> {
  const exit = await fleet.run('verify', ['verify', '--json']);
  const { code, lastWords, output } = exit;
  const samples = code === 0 ? [] : [{ code, lastWords: output || lastWords }];
  return invariant('verify.equal', '`wallet-ledger verify` finds the ledger equal', samples);
}

/** A receiver that was stopped as gone gets everything once it is resumed. */
async function hearAll({ fleet, database }: OpenWorld, feed: FollowedFeed): Promise<Invariant[]> {
  feed.heal();
  const run = (args: string[]) => fleet.run('feed', args);
  return await feed.judge(database, run);
}

async function judgeExports({ fleet, database }: OpenWorld, folder: string): Promise<Invariant> {
  const run = (args: string[]) => fleet.run('export', args);
  return invariant(
    'books.accepted',
    `Programs for books (${judges.join(', ')}) accept the exports, with the balances of the service`,
    await judgeBooks({ database, folder, run }),
  );
}

/** The daemons have ended by then: their audits would repair the row before the sums are compared twice. */
async function loseSum(
  { fleet, oracle, database }: OpenWorld,
  { pageSizeMax: pageSize }: RunSettings,
  seed: number,
): Promise<Invariant> {
  const run = (args: string[]) => fleet.run('sync', args);
  const random = seededRandom(seed);
  const found = await findMissingSum({ oracle, database, run, random, pageSize });
  return invariant(
    'sums.missed',
    'A sum taken from a row by hand is unexplained within two readings while others are open, and explained again once put back',
    found,
  );
}

function logsOf(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.log'))
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile());
}
