import { LedgerError, toError } from '../kernel/errors.ts';
import type { Credentials } from '../sandbox/authentication/signing-recipes.ts';
import type { Faults } from '../sandbox/sandbox-faults.ts';
import { sandboxSettings } from '../sandbox/sandbox-settings.ts';
import type { SandboxWallet } from '../sandbox/sandbox-wallets.ts';
import { startSandbox as start } from '../sandbox/start-sandbox.ts';

import { requireNumber, requireText, requireWallet, wrongArgument } from './check-arguments.ts';
import {
  checkDeposit,
  checkFaults,
  checkSandboxOptions,
  completeParamNames,
  type NewDeposit,
  type SandboxOptions,
} from './sandbox-arguments.ts';

export type { Credentials, SignerName } from '../sandbox/authentication/signing-recipes.ts';
export type { FaultKind, Faults } from '../sandbox/sandbox-faults.ts';
export type { NewDeposit, SandboxOptions } from './sandbox-arguments.ts';

/** A running emulator of the wallet service. After `close`, the functions that change it throw LedgerError `closed`. */
export type Sandbox = {
  /** Value of WALLET_BASE_URL: `http://127.0.0.1:PORT/api`. */
  url: string;
  /** Key, secret and signing recipe of the first wallet. */
  credentials: Credentials;
  /** Names and credentials of all wallets. */
  wallets: readonly { name: string; credentials: Credentials }[];
  /** Environment variables with which `wallet-ledger` reaches it, secrets included. */
  settings: Record<string, string>;
  /**
   * Adds a deposit and returns its order number. Throws for a coin, chain, wallet or amount that the sandbox does not
   * have.
   */
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

/**
 * Starts the emulator of the wallet service on 127.0.0.1, for tests. Rejects with LedgerError `port-in-use`, and with
 * `usage` for an option that is not what its type says.
 */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  checkSandboxOptions(options);
  let aheadMs = 0;
  const sandbox = await start({
    ...emulatorOptions(options),
    clock: () => Date.now() + aheadMs,
  });
  let isClosed = false;

  function requireOpen(): void {
    if (isClosed) throw wasClosed();
  }

  function walletOf(name: string | undefined): SandboxWallet {
    requireWallet(name);
    const wallet = sandbox.wallets.find((each) => each.name === (name ?? sandbox.name));
    if (wallet) return wallet;
    const known = sandbox.wallets.map((each) => each.name).join(', ');
    throw wrongArgument(`the sandbox has no wallet ${name}; it has ${known}`);
  }

  return {
    url: sandbox.baseUrl,
    credentials: sandbox.credentials,
    wallets: sandbox.wallets.map(({ name, credentials }) => ({ name, credentials })),
    settings: sandboxSettings(sandbox),
    addDeposit(given = {}) {
      requireOpen();
      checkDeposit(given);
      const { wallet, ...wish } = given;
      const { world } = walletOf(wallet);
      const deposit = { ...wish, ...coinOf(world, wish), type: 'deposit' as const };
      const [orderNo = ''] = refuse(() => world.addTransactions(1, deposit));
      return orderNo;
    },
    setState(orderNo, state, wallet) {
      requireOpen();
      requireText('orderNo', orderNo);
      requireText('state', state);
      refuse(() => walletOf(wallet).world.setState(orderNo, state));
    },
    advance(ms) {
      requireOpen();
      requireNumber('ms', ms ?? null, 0, Number.MAX_SAFE_INTEGER);
      aheadMs += ms;
    },
    setFaults(faults, wallet) {
      requireOpen();
      checkFaults(faults);
      Object.assign(walletOf(wallet).faults, faults);
    },
    close() {
      isClosed = true;
      return sandbox.close();
    },
  };
}

/** Returns the options under the names that the emulator itself has for them. */
function emulatorOptions(options: SandboxOptions) {
  const {
    push = null,
    fault = 0,
    arrivals = 0,
    latency = 0,
    order = 'newest-first',
    transactions = 0,
  } = options;
  return {
    ...pick(options, ['port', 'wallets', 'seed', 'rate', 'pageSizeMax', 'signer', 'settleMs']),
    faultRate: fault,
    arrivalsPerSecond: arrivals,
    latencyMs: latency,
    listOrder: order,
    transactions,
    paramNames: completeParamNames(options.paramNames),
    push,
  };
}

function wasClosed(): LedgerError {
  const cure = 'start another one with startSandbox()';
  return new LedgerError('closed', 'the sandbox was closed', { cure });
}

/** Converts the emulator's refusal of a coin, an amount or an order to LedgerError `usage`. */
function refuse<T>(change: () => T): T {
  try {
    return change();
  } catch (error) {
    throw wrongArgument(toError(error).message);
  }
}

/** Returns the coin of a deposit that names none: one of the chain that has the address. */
function coinOf(
  { coins, addresses }: SandboxWallet['world'],
  { symbol, slip44, toAddress, amount }: NewDeposit,
): { symbol?: string; slip44?: number } {
  const own = coins().filter((coin) => coin.contractAddress === null);
  const ofAddress = own.find((coin) => toAddress && addresses(coin.slip44).includes(toAddress));
  const chain = slip44 ?? ofAddress?.slip44;
  if (symbol !== undefined) return chain === undefined ? {} : { slip44: chain };
  const coin = own.find((each) => each.slip44 === chain) ?? (amount ? own[0] : undefined);
  if (slip44 !== undefined && !coin) throw wrongArgument(`the sandbox has no chain ${slip44}`);
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
