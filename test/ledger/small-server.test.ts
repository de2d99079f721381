import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { silentLog } from '../../src/kernel/log.ts';
import { connectLedger } from '../../src/ledger/connection/connect-ledger.ts';
import { migrateLedger } from '../../src/ledger/connection/migrate-ledger.ts';
import { migrateBefore } from '../support/migrate-before.ts';
import { queryOnce } from '../support/on-database.ts';
import { newCluster } from '../support/postgres-cluster.ts';
import { toolsFolder } from '../support/postgres-tools.ts';

test.skipIf(!toolsFolder)(
  'if the locks of all migrations do not fit, a new ledger is created and an interrupted one completed',
  async () => {
    const cluster = await newCluster();
    const settings = ['max_connections = 20', 'max_locks_per_transaction = 64'];
    appendFileSync(join(cluster.data, 'postgresql.auto.conf'), `${settings.join('\n')}\n`);
    await cluster.stop('fast');
    await cluster.start();
    const open = async (name: string) => {
      await queryOnce(cluster.url(), `create database ${name}`);
      const ledger = connectLedger({
        connectionString: cluster.url(name),
        poolSize: 3,
        log: silentLog,
      });
      onTestFinished(() => ledger.close());
      return ledger;
    };
    const { applied } = await migrateLedger(await open('fresh'));
    const interrupted = await open('interrupted');
    const before = await migrateBefore(interrupted, 'reconciliation_runs');
    expect(before).toBeGreaterThan(0);
    expect(await migrateLedger(interrupted)).toEqual({ applied: applied - before });
  },
  120_000,
);
