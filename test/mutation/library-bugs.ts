import type { PlantedBug } from './planted-bug.ts';

/** Mistakes in the library for other programs. */
export const libraryBugs: PlantedBug[] = [
  {
    id: 'library-break-commits',
    promise: 'The library',
    wrong: 'a loop that ends early keeps the writes of its last event without the position',
    in: 'deliverTurn',
    find: 'cut.release(!isCommitted);',
    put: "await client.query('commit').catch(() => undefined); cut.release(!isCommitted);",
    caughtBy:
      'writes and position are committed together, and rolled back by a break, an error and a close',
  },
  {
    id: 'library-unread-acknowledged',
    promise: 'The library',
    wrong: 'a loop that is stopped acknowledges the events that it has not delivered',
    in: 'deliverTurn',
    find: 'if (stop.aborted) break;',
    put: 'if (stop.aborted) { done = event.seq; continue; }',
    caughtBy: 'a loop that is stopped acknowledges what it has processed, and nothing more',
  },
  {
    id: 'library-deposit-taken-back',
    promise: 'The library',
    wrong: 'a deposit that the service has taken back ends a wait',
    in: 'findDeposit',
    find: 'data?.is_listed && (until',
    put: 'data !== undefined && (until',
    caughtBy: 'a deposit that was taken back does not end a wait; its return does',
  },
  {
    id: 'library-deaf-after-loss',
    promise: 'The library',
    wrong: 'a wait ends with an error when the connection is lost',
    in: 'createDepositWatch',
    find: 'if (!isUnreachable(error)) {',
    put: 'if (isUnreachable(error)) {',
    caughtBy:
      'a wait goes on over a lost connection, through its own connections and those of a pool',
  },
  {
    id: 'library-any-version',
    promise: 'The library',
    wrong: 'a schema of an earlier version is used',
    in: 'requireSchema',
    find: 'minor < contract.minor',
    put: 'minor > contract.minor',
    caughtBy: 'a database without a ledger, or with one of another version, is named with its cure',
  },
  {
    id: 'library-number-unchecked',
    promise: 'The library',
    wrong: 'a wrong number reaches PostgreSQL, and its error is called a bug of the program',
    in: 'requireWhole',
    find: 'Number.isSafeInteger(value)',
    put: "typeof value === 'number'",
    caughtBy: 'a wrong %s is a usage error that names it: %s',
  },
];
