import { LedgerError, toError } from '../kernel/errors.ts';
import { resourceCureOf } from '../kernel/postgres-resources.ts';
import { SchemaMigrationRequiredError, SchemaVersionMismatchError } from './bullmq-migrator.ts';
import { safeErrorMessage } from './safe-error-message.ts';

/** Maps an error of the first contact with the queue's database to a LedgerError. */
export function postgresQueueError(thrown: unknown): LedgerError {
  if (thrown instanceof LedgerError) return thrown;
  const cause = toError(thrown);
  if (cause instanceof SchemaVersionMismatchError) {
    return new LedgerError('schema-newer', `queue: ${cause.message}`, { cause });
  }
  if (cause instanceof SchemaMigrationRequiredError) {
    return new LedgerError('database-unreachable', 'the queue has no tables in this database', {
      cause,
      cure: 'run `wallet-ledger migrate`',
    });
  }
  const cure = resourceCureOf(cause);
  return new LedgerError(
    'database-unreachable',
    `the queue cannot reach its database: ${describe(cause)}`,
    { cause, ...(cure && { cure }) },
  );
}

/** Unwraps the AggregateError without a message that Node reports for a name with several addresses. */
function describe(error: Error): string {
  if (error instanceof AggregateError && error.errors.length > 0) {
    return describe(toError(error.errors[0]));
  }
  return safeErrorMessage(error) || error.name;
}
