import type { Clock } from '../kernel/clock.ts';
import type { ListOrder, ParamNames } from '../kernel/vocabulary.ts';
import type { SignEncoding, SignerName, SignHash } from './authentication/signing-recipes.ts';

/** Behaviour of the sandbox. Every option has a default. */
export type SandboxOptions = {
  /** 0: a free port. */
  port: number;
  /** Names of the wallets, at least one; BIZ-API-KEY tells them apart. */
  wallets: readonly string[];
  /**
   * Seed of the first wallet; those of the others are drawn from it and their positions. The same seed, `startedAt` and
   * options create the same wallets, row for row.
   */
  seed: number;
  clock: Clock;
  /** Unix ms at which the history ends and arrivals begin. Default: the clock's time at the start. */
  startedAt: number;
  /** Number of transactions of each wallet in the two years before `startedAt`. */
  transactions: number;
  /** New transactions of each wallet per second; 0: none. */
  arrivalsPerSecond: number;
  /** Average time to the final state in ms; each transaction takes 0.5 to 1.5 times as long. 0: at once. */
  settleMs: number;
  /** Number of deposit addresses that each chain has at the start. */
  addressesPerChain: number;
  /**
   * True: only addresses that exist at the start get deposits. Otherwise those that were generated and not handed out
   * do, too, which a ledger must report.
   */
  paysKnownOnly: boolean;
  /** Delay in ms from the generation of an address to its listing. */
  addressLagMs: number;
  /** True: the address list honours the chain parameter. False: it always lists the addresses of all chains. */
  filtersAddresses: boolean;
  mayAddAddresses: boolean;
  /** slip44 codes, of 0, 2, 60 and 195; coins of other chains do not exist. */
  supportedChains: readonly number[];
  /** `unordered`: stable, but not by time. `shuffled`: another order on each request. */
  listOrder: ListOrder | 'shuffled';
  paramNames: ParamNames;
  defaultPageSize: number;
  pageSizeMax: number;
  /** Reaction to a larger page size: cut to the maximum, or a `code` other than 0. */
  pageSizeRule: 'clamp' | 'refuse';
  /** Answer to a page beyond the end. */
  beyondEnd: 'empty' | 'last-page' | 'refuse';
  /** Number of rows in transaction lists that `totalSize` does not count. */
  totalLag: number;
  /** True: the balances are in a page object. */
  balancesPaged: boolean;
  /** `none`: neither a signature nor headers are required; without a known key, the first wallet answers. */
  signer: SignerName | 'none';
  /** Default: the recipe's own. */
  signHash: SignHash | null;
  /** Default: the recipe's own. */
  signEncoding: SignEncoding | null;
  /** Key of the first wallet. Default: derived from the secret; for HMAC, from the seed. */
  apiKey: string | null;
  /** The first wallet's secret in the recipe's own form; default: drawn from the seed. */
  apiSecret: string | null;
  /** True: a nonce may be used only once. */
  nonceChecking: boolean;
  /** Requests per second and wallet above which the answer is 429; 0: no limit. */
  rate: number;
  latencyMs: number;
  /** Share of the requests with a fault, 0 to 1. */
  faultRate: number;
  /** Delay in ms before the fault `hang` resets the connection. */
  hangMs: number;
  /** URL that gets a POST for each new or changed transaction; null: none. */
  push: string | null;
};

/** Returns the options, completed by their defaults. */
export function withDefaults(given: Partial<SandboxOptions>): SandboxOptions {
  const clock = given.clock ?? Date.now;
  return {
    port: 0,
    wallets: ['main'],
    seed: 1,
    clock,
    startedAt: clock(),
    transactions: 5_000,
    arrivalsPerSecond: 0,
    settleMs: 60_000,
    addressesPerChain: 50,
    paysKnownOnly: false,
    addressLagMs: 0,
    filtersAddresses: true,
    mayAddAddresses: true,
    supportedChains: [0, 2, 60, 195],
    listOrder: 'newest-first',
    paramNames: { page: 'pageNo', size: 'pageSize', chain: 'slip44', type: 'type' },
    defaultPageSize: 10,
    pageSizeMax: 100,
    pageSizeRule: 'clamp',
    beyondEnd: 'empty',
    totalLag: 0,
    balancesPaged: false,
    signer: 'params-secp256k1',
    signHash: null,
    signEncoding: null,
    apiKey: null,
    apiSecret: null,
    nonceChecking: true,
    rate: 0,
    latencyMs: 0,
    faultRate: 0,
    hangMs: 2_000,
    push: null,
    ...given,
  };
}
