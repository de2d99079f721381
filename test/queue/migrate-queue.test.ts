import { afterAll, expect, it } from 'vitest';
import { connectPostgresQueue } from '../../src/queue/connect-postgres-queue.ts';
import { migrateQueue } from '../../src/queue/migrate-queue.ts';
import { freePort } from '../support/free-port.ts';
import { queryOnce } from '../support/on-database.ts';
import { startPostgres } from '../support/start-postgres.ts';

const database = await startPostgres();
afterAll(() => database.close());

const query = (statement: string) => queryOnce(database.connectionString, statement);

it('[Q14] migrates once where five start at once, and again without change', async () => {
  await Promise.all(Array.from({ length: 5 }, () => migrateQueue(database.connectionString)));
  const versions = await query('select version, applied_at from queue.migration order by version');
  expect(versions.length).toBeGreaterThan(0);
  await migrateQueue(database.connectionString);
  expect(await query('select version, applied_at from queue.migration order by version')).toEqual(
    versions,
  );
});

it('refuses a schema that only a newer version understands', async () => {
  await query(`insert into queue.migration (version, name, min_client_version)
               values (9999, 'of the future', 99)`);
  await expect(migrateQueue(database.connectionString)).rejects.toMatchObject({
    code: 'schema-newer',
    exitCode: 5,
  });
});

it('says what a server without free connections needs', async () => {
  await query(`create role few_for_queue login password 'few' connection limit 0`);
  const url = new URL(database.connectionString);
  url.username = 'few_for_queue';
  url.password = 'few';
  const refused = {
    code: 'database-unreachable',
    cure: 'lower DATABASE_POOL_SIZE, or raise max_connections of PostgreSQL',
  };
  await expect(migrateQueue(url.href)).rejects.toMatchObject(refused);
  await expect(connectPostgresQueue(url.href, 'few', () => undefined)).rejects.toMatchObject(
    refused,
  );
  await query('drop role few_for_queue');
});

it('says where the database could not be reached', async () => {
  const port = await freePort();
  await expect(migrateQueue(`postgres://postgres@127.0.0.1:${port}/none`)).rejects.toMatchObject({
    code: 'database-unreachable',
    message: expect.stringContaining(String(port)),
  });
});
