import type { Clock } from '../kernel/clock.ts';
import type { SignEncoding, SignerName, SignHash } from './signing-recipes.ts';

type ListOrder = 'newest-first' | 'oldest-first' | 'unordered' | 'shuffled';

type ParamNames = { page: string; size: string; chain: string; type: string };

/** How the sandbox behaves. Everything has a default. */
export type SandboxOptions = {
  /** 0: a free port. */
  port: number;
  /** The same seed, `startedAt` and options give the same world, row for row. */
  seed: number;
  clock: Clock;
  /** Unix ms at which the history ends and arrivals begin. Default: the clock's time at the start. */
  startedAt: number;
  /** Transactions of the two years before `startedAt`. */
  transactions: number;
  /** New transactions a second; 0: none. */
  arrivalsPerSecond: number;
  /** A transaction is final between half and one and a half of this after its time; 0: at once. */
  settleMs: number;
  /** Deposit addresses that each chain has at the start. */
  addressesPerChain: number;
  /** A generated address is listed this long after its generation. */
  addressLagMs: number;
  /** Whether the address list heeds the chain; if not, it lists the addresses of all chains for each. */
  filtersAddresses: boolean;
  mayAddAddresses: boolean;
  /** slip44 codes, of 0, 2, 60 and 195; what is on other chains does not exist. */
  supportedChains: readonly number[];
  /** `unordered`: stable, but not by time. `shuffled`: another order on each request. */
  listOrder: ListOrder;
  paramNames: ParamNames;
  defaultPageSize: number;
  pageSizeMax: number;
  /** What happens to a larger page size: cut down to the maximum, or a `code` other than 0. */
  pageSizeRule: 'clamp' | 'refuse';
  /** What a page beyond the end answers. */
  beyondEnd: 'empty' | 'last-page' | 'refuse';
  /** Rows that transaction lists hold but `totalSize` does not count yet. */
  totalLag: number;
  /** Whether the balances come in a page object. */
  balancesPaged: boolean;
  /** `none`: neither signature nor headers are asked for. */
  signer: SignerName | 'none';
  /** Default: the recipe's own. */
  signHash: SignHash | null;
  /** Default: the recipe's own. */
  signEncoding: SignEncoding | null;
  /** Default: derived from the secret. */
  apiKey: string | null;
  /** In the recipe's own form; default: drawn by the seed. */
  apiSecret: string | null;
  /** Whether a nonce may be used only once. */
  nonceChecking: boolean;
  /** Requests a second, above which 429 is answered; 0: no limit. */
  rate: number;
  latencyMs: number;
  /** Share of the requests that meet a fault, 0 to 1. */
  faultRate: number;
  /** How long the fault `hang` says nothing before the connection is reset. */
  hangMs: number;
};

/** The options with their defaults. */
export function withDefaults(given: Partial<SandboxOptions>): SandboxOptions {
  const clock = given.clock ?? Date.now;
  return {
    port: 0,
    seed: 1,
    clock,
    startedAt: clock(),
    transactions: 5_000,
    arrivalsPerSecond: 0,
    settleMs: 60_000,
    addressesPerChain: 50,
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
    ...given,
  };
}
