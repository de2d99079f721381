import type { Reject } from '../../kernel/wallet-records.ts';
import type { Ledger } from '../../ledger/connection/connect-ledger.ts';
import { freeWhenReachable } from '../../ledger/connection/free-when-reachable.ts';
import { isDataError } from '../../ledger/connection/postgres-codes.ts';
import { closeAnsweredRejects } from '../../ledger/transactions/close-rejects.ts';
import { countIncomplete } from '../../ledger/transactions/count-waiting.ts';
import {
  type Claim,
  type ClaimedDetail,
  claimDueDetails,
  extendClaim,
  postponeDetails,
  type Refusal,
  releaseDetails,
} from '../../ledger/transactions/detail-checks.ts';
import { findDetailed, findUnclaimed } from '../../ledger/transactions/probed-details.ts';
import { storeRejects } from '../../ledger/transactions/reject-store.ts';
import {
  type DetailedTransaction,
  storeTransactionDetails,
} from '../../ledger/transactions/store-transaction-details.ts';
import { findingByKey } from '../../ledger/transactions/transaction-statement.ts';
import type { WalletClient } from '../../service/wallet-client.ts';
import { bisectRejectedRows, rejectedByPostgres } from '../bisect-rejected-rows.ts';
import type { SyncContext, SyncSettings } from '../sync-context.ts';

/** Time (ms) for which a claimed row is kept from other workers; the rows of a dead worker are due again after it. */
export const claimLeaseMs = 30_000;

/** Rows whose detail is due, as their workers see the database; each method is one transaction. */
export type DetailPort = {
  /** Counts the incomplete rows, those that are not final yet included; `finalIncomplete` counts the final ones. */
  countIncomplete(): Promise<{ incomplete: number; finalIncomplete: number }>;
  /** Claims up to `limit` due rows, current ones first, for a pass of this age. */
  claim(limit: number, claim: Claim, passAgeMs: number): Promise<ClaimedDetail[]>;
  /** Returns a row that has its detail and is not due again; null if there is none. */
  answeredBefore(): Promise<string | null>;
  /** Returns up to `limit` rows that wait for their detail and that nobody holds, those that are claimed last. */
  unclaimed(limit: number): Promise<string[]>;
  /** Extends the claim by one lease for the rows that were neither stored nor postponed. */
  extend(claim: Claim): Promise<void>;
  /** Releases the rows of a claim that were neither stored nor postponed, as soon as the database can be reached. */
  release(claimId: string): Promise<void>;
  /**
   * Stores details and rejects, and postpones the rows of `putOff` that the claim still holds. A row that PostgreSQL
   * refuses becomes a reject. Returns the number of changed rows.
   */
  store(
    rows: DetailedTransaction[],
    beside: { claimId: string; putOff: Refusal[]; rejects: Reject[] },
  ): Promise<number>;
};

/** Dependencies of the fetching of details. */
export type DetailTools = Pick<SyncContext, 'log'> & {
  details: DetailPort;
  client: Pick<WalletClient, 'getTransaction'>;
  settings: Pick<SyncSettings, 'concurrency'>;
};

export function openDetailPort(ledger: Ledger): DetailPort {
  const { db } = ledger;
  const store: DetailPort['store'] = (rows, { claimId, putOff, rejects }) =>
    ledger.transaction(async (tx) => {
      const count = await storeTransactionDetails(tx, rows);
      await postponeDetails(tx, putOff, claimId);
      await storeRejects(tx, rejects);
      await closeAnsweredRejects(tx, 'transaction-detail', rows, rejects);
      return count;
    }, findingByKey);
  return {
    countIncomplete: () => countIncomplete(db),
    claim: (...asked) => claimDueDetails(db, ...asked),
    answeredBefore: () => findDetailed(db),
    unclaimed: (limit) => findUnclaimed(db, limit),
    extend: (claim) => extendClaim(db, claim),
    release: (claimId) => freeWhenReachable(() => releaseDetails(db, claimId), claimLeaseMs),
    async store(rows, { claimId, putOff, rejects }) {
      try {
        return await store(rows, { claimId, putOff, rejects });
      } catch (error) {
        if (!isDataError(error)) throw error;
        const { good, refused } = await bisectRejectedRows(rows, (batch) =>
          store(batch, { claimId, putOff: [], rejects: [] }),
        );
        return await store(good, {
          claimId,
          putOff: [
            ...putOff,
            ...refused.map(({ orderNo }) => ({ orderNo, reason: rejectedByPostgres })),
          ],
          rejects: [...rejects, ...refused.map(toReject)],
        });
      }
    },
  };
}

function toReject({ observation, ...record }: DetailedTransaction): Reject {
  const { orderNo } = record;
  const payload = JSON.stringify(record);
  return {
    source: 'transaction-detail',
    orderNo,
    field: null,
    reason: rejectedByPostgres,
    payload,
  };
}
