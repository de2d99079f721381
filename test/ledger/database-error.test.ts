import { DrizzleQueryError } from 'drizzle-orm/errors';
import { expect, test } from 'vitest';
import { databaseError } from '../../src/ledger/connection/database-error.ts';

/** Failure of a statement, as a server without English messages reports it. */
function refused(statement: string, fields: object) {
  return databaseError(
    new DrizzleQueryError(statement, [], Object.assign(new Error('keine Berechtigung'), fields)),
  );
}

test.each(['CREATE SCHEMA IF NOT EXISTS "drizzle"', 'create extension btree_gist'])(
  'a missing CREATE right on the database is explained in any language of the server: %s',
  (statement) => {
    expect(refused(statement, { code: '42501' })).toMatchObject({
      code: 'rights',
      cure: expect.stringContaining('grant create on database'),
    });
  },
);

test.each([
  ['select 1 from ledger.pools', '42501'],
  ['create schema ledger', '42P06'],
])('another kind of failure has its own advice: %s %s', (statement, code) => {
  expect(refused(statement, { code })).not.toMatchObject({
    cure: expect.stringContaining('grant create on database'),
  });
});
