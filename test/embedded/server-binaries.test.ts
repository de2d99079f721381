import { accessSync, constants } from 'node:fs';
import { expect, test } from 'vitest';
import { locateServerBinaries } from '../../src/embedded/server-binaries.ts';

test('finds programs for this machine', async () => {
  const { initdb, postgres } = await locateServerBinaries();
  accessSync(initdb, constants.X_OK);
  accessSync(postgres, constants.X_OK);
});

test('on a machine without programs the error names DATABASE_URL', async () => {
  await expect(locateServerBinaries('sunos', 'sparc')).rejects.toMatchObject({
    code: 'database-unreachable',
    message: 'there is no embedded PostgreSQL for sunos on sparc',
    cure: expect.stringContaining('DATABASE_URL'),
  });
});
