import { type ErrorCode, LedgerError } from '../kernel/errors.ts';
import { emptyReport, type SyncContext, type SyncReport } from './sync-context.ts';

/** Failures of one request of the service: its other requests may well be answered. */
const ownCodes: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'service-authentication',
  'service-malformed',
  'service-parameters',
  'service-refused',
  'service-unsettled',
]);

export type PartRunner = {
  /**
   * Runs a part and returns its report. A part that the service refuses ends incomplete, and the others can still run;
   * any other error is thrown.
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
        if (!(error instanceof LedgerError && ownCodes.has(error.code))) throw error;
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
