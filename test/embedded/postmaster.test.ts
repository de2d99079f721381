import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readPostmaster } from '../../src/embedded/postmaster.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

test.each([
  ['5432001', 5_432_001],
  ['18446744071709551615', 2_294_967_295],
])('a shared memory key of %s is read as an unsigned 32-bit number', (written, key) => {
  const data = temporaryFolder();
  const lines = [
    '4711',
    data,
    '1700000000',
    '5432',
    '/run/x',
    '',
    `  ${written}      17`,
    'ready   ',
  ];
  writeFileSync(join(data, 'postmaster.pid'), `${lines.join('\n')}\n`, { mode: 0o600 });
  expect(readPostmaster(data)).toMatchObject({ pid: 4711, sharedMemory: { key, id: 17 } });
});
