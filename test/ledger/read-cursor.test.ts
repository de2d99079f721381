import { expect, onTestFinished, test } from 'vitest';
import { batchRows, readAhead, readCursor } from '../../src/ledger/connection/read-cursor.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger } = await withLedger();

async function collect(selects: string[]): Promise<unknown[]> {
  const client = await ledger.patient();
  onTestFinished(() => client.end());
  await client.query('begin');
  const found: unknown[] = [];
  const cursors = readAhead(selects, (select, index) =>
    readCursor(client, `part_${index}`, select, [], ([value]) => value),
  );
  for await (const values of cursors) found.push(...values);
  return found;
}

test('cursors that prefetch rows return all of them in order', async () => {
  const rows = batchRows + 1;
  const found = await collect([`select generate_series(1, ${rows})`, 'select 0']);
  expect(found).toHaveLength(rows + 1);
  expect([found[0], found[rows - 1], found[rows]]).toEqual(['1', String(rows), '0']);
});

test('the reader gets the error of a statement that fails during prefetching', async () => {
  const long = `select generate_series(1, ${3 * batchRows})`;
  await expect(collect([long, 'select 1 / 0'])).rejects.toThrow('division by zero');
  await expect(collect([long, 'select no_such_column'])).rejects.toThrow('no_such_column');
});
