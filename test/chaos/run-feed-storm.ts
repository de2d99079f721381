/**
 * `npm run feed-storm -- [--changes N] [--kills N] [--crashes N] [--rows N] [--postgres DIR]`: changes rows on eight
 * connections while sequencers number the events, kills sequencers and crashes the server at regular intervals, and
 * checks afterwards that each change was reported once and in order. Exits with 1 otherwise.
 */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { silentLog } from '../../src/kernel/log.ts';
import { connectLedger } from '../../src/ledger/connection/connect-ledger.ts';
import { migrateLedger } from '../../src/ledger/connection/migrate-ledger.ts';
import { numberEvents } from '../support/number-events.ts';
import { queryOnce } from '../support/on-database.ts';
import { judgeFeed, stormFeed, stormRows } from '../support/storm-feed.ts';
import { startDatabaseCluster } from './database-cluster.ts';

const { values } = parseArgs({
  options: {
    changes: { type: 'string', default: '1000000' },
    kills: { type: 'string', default: '100' },
    crashes: { type: 'string', default: '20' },
    rows: { type: 'string', default: '5000' },
    postgres: { type: 'string' },
  },
});
const wanted = { kills: Number(values.kills), crashes: Number(values.crashes) };
const changes = Number(values.changes);
const rows = Number(values.rows);
const made = { kills: 0, crashes: 0 };
const askPauseMs = 200;

const home = await mkdtemp(join(tmpdir(), 'wallet-ledger-storm-'));
const cluster = await startDatabaseCluster(home, { programs: values.postgres ?? null });
process.on('exit', () => cluster.kill());
for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => process.exit(1));
const connectionString = () => cluster.urlAt(cluster.port);
const startedAt = performance.now();
let found: string[];
try {
  await withLedger(async (ledger) => {
    await migrateLedger(ledger);
    await ledger.pool.query(stormRows(rows));
  });
  const over = new AbortController();
  const disturbed = disturb(over.signal);
  const written = await stormFeed({ connectionString, changes, rows });
  over.abort();
  await disturbed;
  await withLedger(({ db }) => numberEvents(db));
  // Not on connections of the ledger, whose statements end after 60 s.
  found = await judgeFeed((text) => queryOnce(cluster.ownerUrl(), text), written);
  const seconds = Math.round((performance.now() - startedAt) / 1_000);
  process.stdout.write(`${JSON.stringify({ ...written, ...made, seconds, found })}\n`);
} finally {
  await cluster.stop();
}
process.exit(found.length === 0 ? 0 : 1);

/** At regular intervals, counted in events. */
async function disturb(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await delay(askPauseMs);
    const [row] = await queryOnce(
      cluster.ownerUrl(),
      'select coalesce(max(seq), 0)::int as head from ledger.events',
    );
    const share = Number(row?.['head'] ?? 0) / changes;
    if (made.kills < share * wanted.kills) {
      const ended = await queryOnce(
        cluster.ownerUrl(),
        `select pg_terminate_backend(pid) from pg_stat_activity
         where application_name = 'sequencer' order by random() limit 1`,
      );
      made.kills += ended.length;
    }
    if (made.crashes < Math.min(wanted.crashes, Math.floor(share * (wanted.crashes + 1)))) {
      await cluster.crash(made.crashes % 2 === 0 ? 'SIGQUIT' : 'SIGKILL');
      made.crashes += 1;
      await cluster.start();
      process.stderr.write(`feed storm: ${Math.round(share * 100)} %, ${JSON.stringify(made)}\n`);
    }
  }
}

async function withLedger<Result>(
  work: (ledger: ReturnType<typeof connectLedger>) => Promise<Result>,
): Promise<Result> {
  const ledger = connectLedger({
    connectionString: connectionString(),
    poolSize: 2,
    log: silentLog,
  });
  return await work(ledger).finally(() => ledger.close());
}
