import { paramName } from '../kernel/param-names.ts';
import { type ListOrder, listOrders, type ParamNames } from '../kernel/vocabulary.ts';
import { type Credentials, signingRecipes } from '../sandbox/authentication/signing-recipes.ts';
import { createFaults, type Faults, faultKinds } from '../sandbox/sandbox-faults.ts';
import { withDefaults } from '../sandbox/sandbox-options.ts';
import {
  namesOf,
  requireNumber,
  requireOneOf,
  requireOptions,
  requireText,
  requireWallet,
  requireWhole,
  wrongArgument,
} from './check-arguments.ts';

/** Options of the emulator. Their names and meanings are those of `wallet-ledger sandbox --help`. */
export type SandboxOptions = {
  /** Port on 127.0.0.1; 0, the default: a free one. */
  port?: number;
  /** Names of the wallets, which differ in their keys. Default: `main` alone. */
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
  /** Names of the query parameters. Default: `pageNo`, `pageSize`, `slip44` and `type`. */
  paramNames?: Partial<ParamNames>;
  /** URL that gets a POST for each new or changed transaction. */
  push?: string;
  /** Order of the transaction lists. Default `newest-first`. */
  order?: ListOrder | 'shuffled';
  /** Signature scheme that requests must use. Default `params-secp256k1`. */
  signer?: Credentials['signer'] | 'none';
  /** Average time in ms from a transaction to its final state. Default 60,000; `advance` passes it. */
  settleMs?: number;
};

/** A deposit to add. Properties that are left out are drawn from the seed. */
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

const most = Number.MAX_SAFE_INTEGER;
const int4Max = 2_147_483_647;

const optionNames = namesOf<SandboxOptions>({
  port: true,
  wallets: true,
  transactions: true,
  seed: true,
  fault: true,
  rate: true,
  arrivals: true,
  latency: true,
  pageSizeMax: true,
  paramNames: true,
  push: true,
  order: true,
  signer: true,
  settleMs: true,
});

const depositNames = namesOf<NewDeposit>({
  toAddress: true,
  symbol: true,
  slip44: true,
  amount: true,
  state: true,
  wallet: true,
});

const faultNames = Object.keys(createFaults({ faultRate: 0, hangMs: 0 }));

/** Throws LedgerError `usage` for an option that is not what its type says, or out of range. */
export function checkSandboxOptions(options: SandboxOptions): void {
  requireOptions('options', options, optionNames);
  const { port = 0, transactions = 0, seed = 1, pageSizeMax = 100, wallets = ['main'] } = options;
  requireWhole('port', port, 0, 65_535);
  requireWhole('transactions', transactions, 0, int4Max);
  requireWhole('seed', seed, 0, most);
  requireWhole('pageSizeMax', pageSizeMax, 1, int4Max);
  requireNumber('fault', options.fault, 0, 1);
  for (const name of ['rate', 'arrivals', 'latency', 'settleMs'] as const)
    requireNumber(name, options[name], 0, int4Max);
  if (!Array.isArray(wallets) || wallets.length === 0)
    throw wrongArgument('wallets must be an array with at least one name');
  for (const wallet of wallets) requireWallet(wallet ?? null);
  const { order = 'newest-first', signer = 'none', push } = options;
  requireOneOf('order', order, [...listOrders, 'shuffled']);
  requireOneOf('signer', signer, [...Object.keys(signingRecipes), 'none']);
  if (push !== undefined && !(typeof push === 'string' && URL.canParse(push)))
    throw wrongArgument('push must be a URL');
  completeParamNames(options.paramNames);
}

/** Returns all four names. Throws LedgerError `usage` for one that is not what its type says, or used twice. */
export function completeParamNames(given: Partial<ParamNames> = {}): ParamNames {
  const { paramNames: usual } = withDefaults({});
  requireOptions('paramNames', given, Object.keys(usual));
  for (const [meaning, name] of Object.entries(given))
    if (typeof name !== 'string' || !paramName.test(name))
      throw wrongArgument(`${meaning} of paramNames must be a name of letters, digits and _.~-`);
  const names = { ...usual, ...given };
  if (new Set(Object.values(names)).size === 4) return names;
  throw wrongArgument('paramNames must be four names that differ');
}

/** Throws LedgerError `usage` for a property that is not what its type says. */
export function checkDeposit(deposit: NewDeposit): void {
  requireOptions('the deposit', deposit, depositNames);
  const { slip44, amount } = deposit;
  for (const name of ['toAddress', 'symbol', 'state'] as const)
    if (deposit[name] !== undefined) requireText(name, deposit[name]);
  if (slip44 !== undefined) requireWhole('slip44', slip44, 0, int4Max);
  if (amount !== undefined && !(typeof amount === 'string' && /^\d+(\.\d+)?$/.test(amount)))
    throw wrongArgument('amount must be a decimal text such as "1.5"');
  requireWallet(deposit.wallet);
}

/** Throws LedgerError `usage` for a fault that is not what its type says. */
export function checkFaults(faults: Partial<Faults>): void {
  requireOptions('the faults', faults, faultNames);
  for (const name of ['rate', 'lostPostRate'] as const) requireNumber(name, faults[name], 0, 1);
  for (const name of ['hangMs', 'slowdown'] as const) requireNumber(name, faults[name], 0, int4Max);
  requireNumber('totalError', faults.totalError, -most, most);
  for (const name of ['kinds', 'next'] as const) {
    const kinds = faults[name] ?? [];
    if (!Array.isArray(kinds)) throw wrongArgument(`${name} must be an array`);
    for (const kind of kinds) requireOneOf(`each of ${name}`, kind, faultKinds);
  }
  if (typeof (faults.match ?? '') !== 'string') throw wrongArgument('match must be a text');
}
