import type { ChainFilter } from '../../kernel/chain-filter.ts';
import { type Answer, openAnswers } from '../../ledger/addresses/address-answer-store.ts';
import {
  type Loss,
  openPoolRequests,
  type PoolRow,
  type PoolWrite,
  type Refusal,
} from '../../ledger/addresses/pool-requests.ts';
import {
  chainsInDoubt,
  forceFilling,
  isAnyListed,
  noteChainFilter,
  noteListRead,
  notePoolError,
} from '../../ledger/addresses/pool-store.ts';
import { resolveRequest } from '../../ledger/addresses/resolve-request.ts';
import type { LedgerDb } from '../../ledger/connection/connect-ledger.ts';
import { requireWallet } from '../../ledger/wallet-identity.ts';
import type { WalletClient } from '../../service/wallet-client.ts';
import type { SyncOptions } from '../streams/sync-stream.ts';
import type { SyncContext, SyncSettings } from '../sync-context.ts';
import { syncAddressList } from './sync-addresses.ts';

/**
 * The pools as one pass over them sees the database. Each method, except `readList`, is one transaction: an action of
 * another process falls between two calls, never into one. A process may end after a call has committed and before it
 * returns.
 */
export type PoolPort = {
  /** Returns the chains with a request whose outcome is not known yet. */
  chainsInDoubt(): Promise<number[]>;
  /**
   * Reads the pool under its lock, calls `decide` and performs its write. `openedId`: the stored request. The database
   * sees its sender as alive from before the write until `end`. Undefined: the chain has no pool.
   */
  plan<D extends { write: PoolWrite | null }>(
    slip44: number,
    decide: (pool: PoolRow) => D,
  ): Promise<{ decision: D; openedId: number | null } | undefined>;
  /**
   * Stores a clear answer. Returns the number of addresses that joined the pool. Null: the answer is postponed, because
   * the list is not yet shown to apply the chain filter.
   */
  storeAnswer(answer: Answer): Promise<number | null>;
  /** Closes a request whose postponed answer the list does not show; the pool waits, as after a refusal. */
  dropAnswer(id: number, refusals: Answer['ifNoneJoins']): Promise<void>;
  /** Records that the answer of a request that is still `sent` is lost. */
  markRequestUnknown(id: number, loss: Loss): Promise<void>;
  /** Records that the service refused a request that is still `sent`. */
  failRequest(id: number, refusal: Refusal): Promise<void>;
  /** Records that the list was read to its end after the answer was lost or postponed. */
  noteListRead(id: number): Promise<void>;
  /**
   * Closes a lost request by the addresses that the list has shown since, or a postponed answer. Returns the number of
   * addresses that joined the pool.
   */
  resolveRequest(id: number, ifNoneJoins: Answer['ifNoneJoins']): Promise<number>;
  /** Marks the pool to be filled up to its target, above the threshold as well, and ends the wait after a refusal. */
  forceFilling(slip44: number): Promise<void>;
  /** Records the reason why the pool cannot be filled, for `status`. */
  noteError(slip44: number, error: string): Promise<void>;
  /** Records the evidence about the list's chain filter. */
  noteChainFilter(slip44: number, filter: Exclude<ChainFilter, 'unknown'>): Promise<void>;
  /** Returns true if the list of the chain has shown one of the addresses. */
  isAnyListed(slip44: number, addresses: string[]): Promise<boolean>;
  /**
   * Reads the chain's address list and stores its rows, in many transactions. Returns undefined if another process has
   * it and the pass should not wait. `missing`: the service's count minus the ledger's at the end of the pass; null: no
   * total is known.
   */
  readList(slip44: number, pass: SyncOptions): Promise<{ missing: number | null } | undefined>;
  /** Ends the pass: this process sends no further request. */
  end(): Promise<void>;
};

/** Dependencies of the filling of pools. */
export type PoolTools = Pick<SyncContext, 'log'> & {
  pools: PoolPort;
  client: Pick<WalletClient, 'generateAddresses' | 'listAddresses' | 'listCoins'>;
  settings: Pick<SyncSettings, 'pageSize' | 'chains' | 'pools' | 'chainParam'>;
};

/**
 * Opens the pools in the database for one pass; the caller ends it. Once the ledger belongs to another wallet, no
 * request is inserted and no answer is stored: `plan` and `storeAnswer` throw LedgerError `settings`.
 */
export function openPoolPort(context: SyncContext): PoolPort {
  const { ledger, settings, identity } = context;
  const { db } = ledger;
  const { chainParam, isPoolExclusive: isExclusive = false } = settings;
  const requireOwn = async (on: LedgerDb) => {
    if (identity) await requireWallet(on, ledger.wallet, identity);
  };
  const { ownerOf, ...requests } = openPoolRequests(ledger, chainParam, requireOwn);
  const answers = openAnswers(ledger, { chainParam, isExclusive }, ownerOf);
  return {
    ...requests,
    ...answers,
    async storeAnswer(answer) {
      await requireOwn(db);
      return await answers.storeAnswer(answer);
    },
    resolveRequest: (id, ifNoneJoins) =>
      ledger.transaction((transaction) =>
        resolveRequest(transaction, id, { isExclusive, ifNoneJoins }),
      ),
    chainsInDoubt: () => chainsInDoubt(db),
    noteListRead: (id) => noteListRead(db, id),
    forceFilling: (slip44) => forceFilling(db, slip44),
    noteError: (slip44, error) => notePoolError(db, slip44, error),
    noteChainFilter: (slip44, filter) => noteChainFilter(db, slip44, { filter, chainParam }),
    isAnyListed: (slip44, addresses) => isAnyListed(db, slip44, addresses),
    readList: (slip44, pass) => syncAddressList(context, slip44, pass),
  };
}
