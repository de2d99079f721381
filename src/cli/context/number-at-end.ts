import type { Ledger } from '../../ledger/connection/connect-ledger.ts';
import { sequenceAtLast } from '../../ledger/feed/keep-sequencing.ts';
import type { CommandContext } from './command-context.ts';

/**
 * Gives the events of a writing command their numbers when it ends, even after a failure: without a daemon they would
 * stay out of the change feed until one runs.
 */
export function numberAtEnd({ shutdown, log }: CommandContext, ledger: Ledger): void {
  shutdown.add('numbers of events', () => sequenceAtLast(ledger, log));
}
