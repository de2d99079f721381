import { type ErrorCode, isOfRequest, LedgerError } from '../kernel/errors.ts';
import { emptyReport, type SyncContext, type SyncReport } from './sync-context.ts';

/** Further failures after which the service may well answer other requests. */
const ownCodes: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'service-authentication',
  'service-parameters',
]);

function isOwn(error: unknown): error is LedgerError {
  return isOfRequest(error) || (error instanceof LedgerError && ownCodes.has(error.code));
}

export type PartRunner = {
  /**
   * Runs a part and returns its report. A part that the service refuses or answers with HTTP 5xx ends incomplete, and
   * the others can still run; any other error is thrown.
   */
  run: (name: string, work: () => Promise<SyncReport>) => Promise<SyncReport>;
  /** Returns the names of the parts that ended incomplete. Throws the first refusal, and logs the others. */
  end: () => string[];
};

/** Collects the outcomes of the parts of one command, which run one after another. */
export function createPartRunner(log: SyncContext['log']): PartRunner {
  const incomplete = new Set<string>();
  const refused = new Map<string, LedgerError>();
  return {
    run: async (name, work) => {
      try {
        const report = await work();
        refused.delete(name);
        if (report.isComplete) incomplete.delete(name);
        else incomplete.add(name);
        return report;
      } catch (error) {
        if (!isOwn(error)) throw error;
        refused.set(name, error);
        return { ...emptyReport(), isComplete: false };
      }
    },
    end: () => {
      const [first, ...others] = refused;
      if (!first) return [...incomplete];
      for (const [part, error] of others) log.warn({ part, error }, 'failed as well');
      throw first[1];
    },
  };
}
