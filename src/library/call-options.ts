import {
  namesOf,
  requireFunction,
  requireNumber,
  requireOneOf,
  requireOptions,
  requireSignal,
  requireText,
  requireWallet,
  requireWhole,
  wrongArgument,
} from './check-arguments.ts';
import type { DepositOf, Wanted } from './find-deposits.ts';
import type { FollowOptions } from './follow-events.ts';

export type OpenOptions = {
  /** Wallet that the calls are about unless they name another one. Default: see each call. */
  wallet?: string;
  /**
   * Largest number of connections of the own pool, besides one that listens. Default 5. A loop of `events` uses one
   * while it processes an event or waits for another loop of its consumer. Ignored for a given pool.
   */
  poolSize?: number;
  /** Gets failures that the library retries, such as a lost connection. Default: they are ignored. */
  onWarning?: (error: Error) => void;
};

/** One wallet; default: that of `OpenOptions`. */
export type OfWallet = { wallet?: string };

export type EventOptions = OfWallet & {
  /** Ends the loop, without an error, after the event that is being processed is committed. */
  signal?: AbortSignal;
  /** Number of events that are committed together. Default 1; at most 10,000. More is faster for many small events. */
  eventsPerTransaction?: number;
};

export type WaitForDepositOptions = OfWallet & {
  /**
   * `seen`: the service lists the deposit, in any state. `final` (default): its state will not change any more; it
   * moved money only if `is_success` is true.
   */
  until?: 'seen' | 'final';
  /**
   * Only an event with a higher number ends the wait; with the `seq` of a deposit, the next deposit does. Default 0:
   * the wait begins with a look at all events that the feed keeps, about a second for 500,000. To read only later
   * events, store the `head` before you give the address to a customer, and pass it here.
   */
  after?: number;
  /** Milliseconds, up to 2,147,483,647, after which the wait rejects with `timed-out`. Default: no limit. */
  timeoutMs?: number;
  /** Rejects the wait with the signal's reason. */
  signal?: AbortSignal;
};

/** Largest slip44: an integer of PostgreSQL. */
export const slip44Max = 2_147_483_647;
/** Largest delay of a Node timer; a longer one ends at once. */
const timeoutMsMax = 2_147_483_647;
const poolSizeMax = 10_000;
const eventsPerTransactionMax = 10_000;

const walletNames = namesOf<OfWallet>({ wallet: true });
const openNames = namesOf<OpenOptions>({ wallet: true, poolSize: true, onWarning: true });
const eventNames = namesOf<EventOptions>({
  wallet: true,
  signal: true,
  eventsPerTransaction: true,
});
const waitNames = namesOf<WaitForDepositOptions>({
  wallet: true,
  until: true,
  after: true,
  timeoutMs: true,
  signal: true,
});

// The parsers complete the options by their defaults. They throw LedgerError `usage` for one that is not what its type
// says. `home`: wallet of `OpenOptions`.

export function parseOpenOptions(options: OpenOptions) {
  requireOptions('options', options, openNames);
  const { wallet, poolSize = 5, onWarning = () => undefined } = options;
  requireWallet(wallet);
  requireWhole('poolSize', poolSize, 1, poolSizeMax);
  requireFunction('onWarning', onWarning);
  return { wallet, poolSize, onWarning };
}

export function parseOfWallet(options: OfWallet, home: string | undefined): string | undefined {
  return parseWallet(options, walletNames, home);
}

function parseWallet(
  options: OfWallet,
  known: readonly string[],
  home: string | undefined,
): string | undefined {
  requireOptions('options', options, known);
  requireWallet(options.wallet);
  return options.wallet ?? home;
}

export function parseEventOptions(options: EventOptions, home: string | undefined): FollowOptions {
  const wallet = parseWallet(options, eventNames, home) ?? null;
  const { signal, eventsPerTransaction = 1 } = options;
  requireSignal(signal);
  requireWhole('eventsPerTransaction', eventsPerTransaction, 1, eventsPerTransactionMax);
  return { signal, eventsPerTransaction, wallet };
}

export function parseWaitOptions(
  options: WaitForDepositOptions,
  home: string | undefined,
): Omit<Wanted, 'of'> & {
  after: number;
  timeoutMs: number | undefined;
  signal: AbortSignal | undefined;
} {
  const wallet = parseWallet(options, waitNames, home) ?? null;
  const { until = 'final', after = 0, timeoutMs, signal } = options;
  requireOneOf('until', until, ['seen', 'final']);
  requireWhole('after', after, 0, Number.MAX_SAFE_INTEGER);
  requireNumber('timeoutMs', timeoutMs, 0, timeoutMsMax);
  requireSignal(signal);
  return { wallet, until, after, timeoutMs, signal };
}

/** Returns the reference or the address to wait for. */
export function parseDepositOf(of: DepositOf): DepositOf {
  requireOptions('the deposit to wait for', of, ['reference', 'address']);
  const { reference, address }: { reference?: string; address?: string } = of;
  if (reference !== undefined && address !== undefined)
    throw wrongArgument('name the deposit by its reference or by its address, not by both');
  if (reference !== undefined) {
    requireText('reference', reference);
    return { reference };
  }
  requireText('address', address);
  return { address: String(address) };
}
