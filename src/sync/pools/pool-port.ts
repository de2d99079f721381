import type { ChainFilter } from '../../kernel/chain-filter.ts';
import {
  type Answer,
  type NumAfterGrant,
  openAnswers,
} from '../../ledger/addresses/address-answer-store.ts';
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
import type { WalletClient } from '../../service/wallet-client.ts';
import type { SyncOptions } from '../streams/sync-stream.ts';
import type { SyncContext, SyncSettings } from '../sync-context.ts';
import { syncAddressList } from './sync-addresses.ts';

/**
 * The pools as one pass over them sees the database. Each method is one transaction: what another process does falls
 * between two calls, never into one, and a process may end after a call has committed and before it returns.
 */
export type PoolPort = {
  /** Chains with a request whose end is not known yet. */
  chainsInDoubt(): Promise<number[]>;
  /**
   * Reads the pool under its lock, asks `decide` and writes what it says. `openedId`: the request that was written
   * down; its sender shows itself to the database from before that until `end`. Undefined: the chain has no pool.
   */
  plan<D extends { write: PoolWrite | null }>(
    slip44: number,
    decide: (pool: PoolRow) => D,
  ): Promise<{ decision: D; openedId: number | null } | undefined>;
  /**
   * Stores a clear answer. Returns how many addresses joined the pool; null: the list was not shown to heed the chain
   * yet, so the answer is put off.
   */
  storeAnswer(answer: Answer, numAfterGrant: NumAfterGrant): Promise<number | null>;
  /** The answer of a request that is still `sent` is lost. */
  markRequestUnknown(id: number, loss: Loss): Promise<void>;
  /** The service refused a request that is still `sent`. */
  failRequest(id: number, refusal: Refusal): Promise<void>;
  /** The list was read to its end after the answer was lost or put off. */
  noteListRead(id: number): Promise<void>;
  /** Closes a lost request by what the list has shown since. Returns how many addresses joined the pool. */
  resolveRequest(id: number): Promise<number>;
  /** Fills the pool up to its target, above the threshold too, and without further waiting. */
  forceFilling(slip44: number): Promise<void>;
  /** Keeps why the pool cannot be filled, for `status`. */
  noteError(slip44: number, error: string): Promise<void>;
  /** Keeps what was shown of the list's chain filter. */
  noteChainFilter(slip44: number, filter: Exclude<ChainFilter, 'unknown'>): Promise<void>;
  /** True when the list of the chain has shown one of the addresses. */
  isAnyListed(slip44: number, addresses: string[]): Promise<boolean>;
  /**
   * Reads the chain's address list and stores what it shows, in many transactions; undefined when another process has
   * it and the pass was not to wait. `missing`: as the pass found the counts of the list and of the ledger.
   */
  readList(slip44: number, pass: SyncOptions): Promise<{ missing: number | null } | undefined>;
  /** The process sends nothing more. */
  end(): Promise<void>;
};

/** What the filling of pools works with. */
export type PoolTools = Pick<SyncContext, 'log'> & {
  pools: PoolPort;
  client: Pick<WalletClient, 'generateAddresses' | 'listAddresses'>;
  settings: Pick<SyncSettings, 'pageSize' | 'chains' | 'pools' | 'chainParam'>;
};

/** Opens the pools in the database for one pass; end it. */
export function openPoolPort(context: SyncContext): PoolPort {
  const { ledger, settings } = context;
  const { db } = ledger;
  const { chainParam } = settings;
  return {
    ...openPoolRequests(ledger, chainParam),
    ...openAnswers(ledger, chainParam),
    resolveRequest: (id) => ledger.transaction((transaction) => resolveRequest(transaction, id)),
    chainsInDoubt: () => chainsInDoubt(db),
    noteListRead: (id) => noteListRead(db, id),
    forceFilling: (slip44) => forceFilling(db, slip44),
    noteError: (slip44, error) => notePoolError(db, slip44, error),
    noteChainFilter: (slip44, filter) => noteChainFilter(db, slip44, { filter, chainParam }),
    isAnyListed: (slip44, addresses) => isAnyListed(db, slip44, addresses),
    readList: (slip44, pass) => syncAddressList(context, slip44, pass),
  };
}
