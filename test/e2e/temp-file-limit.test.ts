import { expect, test } from 'vitest';
import { runProgram } from '../support/run-cli.ts';
import { withService } from '../support/with-service.ts';

test('a command that exceeds a limit of temporary files names the limit and how to raise it', async () => {
  const { env, query } = await withService({ transactions: 3_000 });
  await runProgram(['backfill', '--no-details'], env);
  const [{ name } = {}] = await query('select current_database() as name');
  await query(`alter database ${name} set temp_file_limit = 0;
    alter database ${name} set work_mem = '64kB'`);
  const { code, stderr } = await runProgram(['export', '--format', 'csv'], env);
  expect([code, stderr]).toEqual([
    5,
    expect.stringContaining('exceeds "temp_file_limit" (0kB); raise the limit of PostgreSQL'),
  ]);
}, 60_000);
