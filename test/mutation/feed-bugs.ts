import type { PlantedBug } from './planted-bug.ts';

/** Mistakes in the change feed. */
export const feedBugs: PlantedBug[] = [
  {
    id: 'event-of-an-open-transaction',
    promise: 'Each change once, in order',
    wrong: 'an event gets its number before an older transaction has ended',
    in: 'engine.sequence_events',
    find: 'o.xact >= pg_snapshot_xmin',
    put: 'o.xact < pg_snapshot_xmin',
    caughtBy:
      'events wait for a transaction that is open anywhere, which is named with its process',
  },
];
