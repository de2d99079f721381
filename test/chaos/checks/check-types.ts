/** Settings and events of the run that the checks depend on. */
export type CheckContext = {
  /** POOL_MAX_PER_DAY of the run. */
  poolMaxPerDay: number;
  /** WALLET_MAX_RPS of the run; undefined for `off`. */
  maxRps?: number | undefined;
  /** The database was restored to an earlier state in the run. */
  hasMoved?: boolean;
  /** Addresses that `take_address` or `pool take` returned, each with its reference (null: none given). */
  taken?: readonly { slip44: number; reference: string | null; address: string }[] | undefined;
};

/** One guarantee as a query; each row that it finds is a violation. */
export type Check = {
  /** Stable name: `transactions.complete`. */
  id: string;
  /** Description of the condition that must hold. */
  promise: string;
  sql: string;
};

export type CheckResult = {
  id: string;
  promise: string;
  violations: number;
  /** The first few violating rows. */
  samples: unknown[];
};

/** One fault put into a good ledger or into the service's record, and the checks that have to report it. */
export type Tamper = {
  name: string;
  sql?: string;
  changed?: Partial<CheckContext>;
  /** In the order of the checks. */
  expected: string[];
};
