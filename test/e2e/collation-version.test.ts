import { expect, onTestFinished, test } from 'vitest';
import { queryOnce } from '../support/on-database.ts';
import { runProgram } from '../support/run-cli.ts';
import { startPostgres } from '../support/start-postgres.ts';

/** A database whose collation has a version, whatever the locale of the server. */
async function createVersionedDatabase(): Promise<string> {
  const { connectionString, close } = await startPostgres();
  const url = new URL(connectionString);
  url.pathname += '_icu';
  const name = url.pathname.slice(1);
  await queryOnce(
    connectionString,
    `create database ${name} encoding 'UTF8' locale_provider icu icu_locale 'en-US' locale 'C' template template0`,
  );
  onTestFinished(async () => {
    await queryOnce(connectionString, `drop database ${name} with (force)`);
    await close();
  });
  return url.toString();
}

test('no command uses indexes that another version of the collation has built, until they are built anew', async () => {
  const connectionString = await createVersionedDatabase();
  const run = (...args: string[]) => runProgram(args, { DATABASE_URL: connectionString });
  const migrate = () => run('migrate');
  expect(await migrate()).toMatchObject({ code: 0 });
  await queryOnce(
    connectionString,
    `update pg_database set datcollversion = '0' where datname = current_database()`,
  );
  const { code, stderr } = await migrate();
  expect(stderr).toContain('built by version 0 of the collation en-US');
  expect(code).toBe(5);
  // It would hand out, and show, what it finds.
  for (const args of [['pool', 'take', '60', '--reference', 'a'], ['status']])
    expect(await run(...args)).toMatchObject({
      code: 5,
      stderr: expect.stringContaining('reindex database'),
    });
  const advised = /reindex database \S+; alter database \S+ refresh collation version;/.exec(
    stderr,
  );
  for (const statement of advised?.[0].split(/(?<=;) /) ?? [])
    await queryOnce(connectionString, statement);
  expect(await migrate()).toMatchObject({ code: 0 });
});
