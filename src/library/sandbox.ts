import type { ListOrder } from '../kernel/vocabulary.ts';
import type { Faults } from '../sandbox/sandbox-faults.ts';
import { sandboxSettings } from '../sandbox/sandbox-settings.ts';
import type { SandboxWallet } from '../sandbox/sandbox-wallets.ts';
import type { Credentials } from '../sandbox/signing-recipes.ts';
import { startSandbox as start } from '../sandbox/start-sandbox.ts';

export type { FaultKind, Faults } from '../sandbox/sandbox-faults.ts';
export type { Credentials, SignerName } from '../sandbox/signing-recipes.ts';

/** Options of the emulator. Their names and meanings are those of `wallet-ledger sandbox --help`. */
export type SandboxOptions = {
  /** Port on 127.0.0.1; 0, the default: a free one. */
  port?: number;
  /** Names of the wallets, told apart by their keys. Default: `main` alone. */
  wallets?: readonly string[];
  /** Number of transactions in the history of each wallet. Default 0. */
  transactions?: number;
  /** The same seed gives the same wallets. Default 1. */
  seed?: number;
  /** Share of faulty answers, 0 to 1. Default 0. */
  fault?: number;
  /** Requests per second and wallet above which it answers 429; 0, the default: no limit. */
  rate?: number;
  /** New transactions of each wallet per second. Default 0. */
  arrivals?: number;
  /** Milliseconds before each answer. Default 0. */
  latency?: number;
  /** Largest page size that it serves. Default 100. */
  pageSizeMax?: number;
  /** URL that gets a POST for each new or changed transaction. */
  push?: string;
  /** Order of the transaction lists. Default `newest-first`. */
  order?: ListOrder | 'shuffled';
  /** How requests must be signed. Default `params-secp256k1`. */
  signer?: Credentials['signer'] | 'none';
  /** Average time in ms from a transaction to its final state. Default 60,000; `advance` passes it. */
  settleMs?: number;
};

/** A deposit to add. Everything that is left out is drawn from the seed. */
export type NewDeposit = {
  /** Recipient. The coin of a known address is one of its chain, by default the chain's own. */
  toAddress?: string;
  /** Coin, such as `USDT`. */
  symbol?: string;
  /** Chain of the coin, as a slip44 code. */
  slip44?: number;
  /** Decimal text in units of the coin, such as "1.5". */
  amount?: string;
  /** State that the deposit keeps, such as `success` or `pending`. Default: it settles with time. */
  state?: string;
  /** Wallet that receives it. Default: the first one. */
  wallet?: string;
};

/** A running emulator of the wallet service. */
export type Sandbox = {
  /** Value of WALLET_BASE_URL: `http://127.0.0.1:PORT/api`. */
  url: string;
  /** Key, secret and signing recipe of the first wallet. */
  credentials: Credentials;
  /** Names and credentials of all wallets. */
  wallets: readonly { name: string; credentials: Credentials }[];
  /** Environment variables with which `wallet-ledger` reaches it, secrets included. */
  settings: Record<string, string>;
  /** Adds a deposit and returns its order number. Throws for a coin, chain, wallet or amount that there is not. */
  addDeposit(deposit?: NewDeposit): string;
  /** Sets the state of a transaction, which then keeps it. */
  setState(orderNo: string, state: string, wallet?: string): void;
  /** Moves the clock of the emulator forward: transactions settle, and arrivals come. */
  advance(ms: number): void;
  /** Changes the faults of a wallet; see docs/sandbox.md. */
  setFaults(faults: Partial<Faults>, wallet?: string): void;
  /** Closes the server and all its connections. */
  close(): Promise<void>;
};

/** Starts the emulator of the wallet service on 127.0.0.1, for tests. Rejects when the port is in use. */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const {
    fault = 0,
    arrivals = 0,
    latency = 0,
    order = 'newest-first',
    transactions = 0,
  } = options;
  const { push = null, ...given } = options;
  let aheadMs = 0;
  const sandbox = await start({
    ...pick(given, ['port', 'wallets', 'seed', 'rate', 'pageSizeMax', 'signer', 'settleMs']),
    faultRate: fault,
    arrivalsPerSecond: arrivals,
    latencyMs: latency,
    listOrder: order,
    transactions,
    push,
    clock: () => Date.now() + aheadMs,
  });

  function walletOf(name: string | undefined): SandboxWallet {
    const wallet = sandbox.wallets.find((each) => each.name === (name ?? sandbox.name));
    if (wallet) return wallet;
    const known = sandbox.wallets.map((each) => each.name).join(', ');
    throw new Error(`the sandbox has no wallet ${name}; it has ${known}`);
  }

  return {
    url: sandbox.baseUrl,
    credentials: sandbox.credentials,
    wallets: sandbox.wallets.map(({ name, credentials }) => ({ name, credentials })),
    settings: sandboxSettings(sandbox),
    addDeposit({ wallet, ...wish } = {}) {
      const { world } = walletOf(wallet);
      const deposit = { ...wish, ...coinOf(world, wish), type: 'deposit' as const };
      const [orderNo = ''] = world.addTransactions(1, deposit);
      return orderNo;
    },
    setState: (orderNo, state, wallet) => walletOf(wallet).world.setState(orderNo, state),
    advance(ms) {
      aheadMs += ms;
    },
    setFaults(faults, wallet) {
      Object.assign(walletOf(wallet).faults, faults);
    },
    close: sandbox.close,
  };
}

/** Returns the coin of a deposit whose wish names none: one of the chain that has the address. */
function coinOf(
  { coins, addresses }: SandboxWallet['world'],
  { symbol, slip44, toAddress, amount }: NewDeposit,
): { symbol?: string; slip44?: number } {
  const own = coins().filter((coin) => coin.contractAddress === null);
  const ofAddress = own.find((coin) => toAddress && addresses(coin.slip44).includes(toAddress));
  const chain = slip44 ?? ofAddress?.slip44;
  if (symbol !== undefined) return chain === undefined ? {} : { slip44: chain };
  const coin = own.find((each) => each.slip44 === chain) ?? (amount ? own[0] : undefined);
  if (slip44 !== undefined && !coin) throw new Error(`the sandbox has no chain ${slip44}`);
  return coin ? { symbol: coin.symbol, slip44: coin.slip44 } : {};
}

/** Returns the properties of these names that are set. */
function pick<T extends object, K extends keyof T>(
  from: T,
  names: K[],
): { [P in K]?: NonNullable<T[P]> } {
  const set = names.filter((name) => from[name] !== undefined).map((name) => [name, from[name]]);
  return Object.fromEntries(set);
}
