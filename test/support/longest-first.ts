import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take a minute or more next to three others, mostly waiting. */
const longest = [
  'chaos/chaos.test.ts',
  'e2e/database-troubles.test.ts',
  'e2e/moved-database.test.ts',
  'queue/queue-troubles.test.ts',
  'e2e/process-troubles.test.ts',
  'e2e/export.test.ts',
  'e2e/backfill.test.ts',
  'e2e/close.test.ts',
  'e2e/webhooks.test.ts',
  'sync/drawn-histories.test.ts',
  'sync/sync-transactions.test.ts',
  'e2e/several-wallets.test.ts',
  'embedded/embedded-postgres.test.ts',
  'mutation/planted-bugs.test.ts',
  'e2e/commands.test.ts',
  'chaos/missing-sum.test.ts',
  'chaos/oracle.test.ts',
];

/** A fresh checkout knows no durations: the slowest files must not start last. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const place = longest.findIndex((name) => moduleId.endsWith(name));
      return place < 0 ? longest.length : place;
    };
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}
