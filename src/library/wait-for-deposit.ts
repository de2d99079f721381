import { abortableSleep } from '../kernel/abortable-sleep.ts';
import { LedgerError } from '../kernel/errors.ts';
import { isUnreachable } from '../ledger/connection/postgres-codes.ts';
import type { Ask } from './ask-database.ts';
import type { FeedWatch } from './feed-watch.ts';
import { type DepositOf, findDeposit, readDeposits, type Wanted } from './find-deposits.ts';
import type { Deposit } from './ledger-event.ts';
import { libraryError } from './library-error.ts';
import type { Database } from './open-database.ts';

/** `after`: only events after this number end the wait. */
type WaitOptions = Omit<Wanted, 'of'> & { after: number };

export type DepositWatch = {
  /** Resolves with the first deposit that fits. Rejects with the signal's reason, or a LedgerError. */
  wait(of: DepositOf, options: WaitOptions, signal: AbortSignal): Promise<Deposit>;
};

type Parts = {
  database: Pick<Database, 'ask' | 'role'>;
  watch: FeedWatch;
  closing: AbortSignal;
  warn(error: Error): void;
};

/** `isNew`: the wallets of its reference were not asked for yet. */
type Waiter = Wanted & {
  after: number;
  isNew: boolean;
  end(deposit: Deposit): void;
  fail(error: Error): void;
};

const retryMs = 1_000;

/**
 * Waits for deposits. All waiting calls share one reading of the feed: the kept events first, then new ones after each
 * notification.
 */
export function createDepositWatch({ database, watch, closing, warn }: Parts): DepositWatch {
  const waiters = new Set<Waiter>();
  let isRunning = false;
  let onChange = (): void => undefined;

  /** Runs while any call waits, and ends at once with the last one. */
  async function run(): Promise<void> {
    isRunning = true;
    while (waiters.size > 0 && !closing.aborted) {
      const changed = new Promise<void>((resolve) => {
        onChange = resolve;
      });
      const woken = watch.next();
      const isAtEnd = await readFeed(database.ask, waiters).catch(recover);
      if (isAtEnd) await Promise.race([woken, changed]);
    }
    isRunning = false;
  }

  async function recover(error: unknown): Promise<false> {
    const failure = libraryError(error, database.role);
    if (!isUnreachable(error)) {
      failAll(failure);
      return false;
    }
    warn(failure);
    await abortableSleep(retryMs, closing).catch(() => undefined);
    return false;
  }

  function failAll(error: Error): void {
    for (const waiter of waiters) waiter.fail(error);
  }

  function wait(of: DepositOf, options: WaitOptions, signal: AbortSignal): Promise<Deposit> {
    return new Promise<Deposit>((resolve, reject) => {
      const leave = () => {
        waiters.delete(waiter);
        signal.removeEventListener('abort', abort);
        onChange();
      };
      const end = (deposit: Deposit) => {
        leave();
        resolve(deposit);
      };
      const fail = (error: Error) => {
        leave();
        reject(error);
      };
      const waiter: Waiter = { ...options, of, isNew: true, end, fail };
      const abort = () => fail(signal.reason as Error);
      if (signal.aborted) return abort();
      signal.addEventListener('abort', abort, { once: true });
      waiters.add(waiter);
      onChange();
      if (!isRunning) void run();
    });
  }

  return { wait };
}

/** Reads up to the feed's end for the waiting calls that are farthest behind. Returns true if all are at the end. */
async function readFeed(ask: Ask, waiters: ReadonlySet<Waiter>): Promise<boolean> {
  const head = await readHead(ask);
  const fresh = [...waiters].filter(({ isNew }) => isNew);
  await refuseAmbiguous(ask, fresh);
  for (const waiter of fresh) waiter.isNew = false;
  for (const { after, fail } of waiters) if (after > head) fail(wentBack(after, head));
  const after = Math.min(...[...waiters].map((waiter) => waiter.after));
  if (after >= head) return true;
  const group = [...waiters].filter((waiter) => waiter.after === after);
  const events = await readDeposits(ask, group, { after, head });
  const found = group.flatMap((waiter) => {
    const deposit = findDeposit(events, waiter);
    return deposit ? [{ waiter, deposit }] : [];
  });
  // Another wallet may have handed out an address for the reference meanwhile.
  await refuseAmbiguous(
    ask,
    found.map(({ waiter }) => waiter),
  );
  for (const waiter of group) waiter.after = head;
  for (const { waiter, deposit } of found) waiter.end(deposit);
  return false;
}

/** Rejects the waits for a reference of several wallets that name no wallet. */
async function refuseAmbiguous(ask: Ask, waiters: Waiter[]): Promise<void> {
  const unnamed = waiters.flatMap(({ of, wallet, fail }) =>
    wallet === null && 'reference' in of ? [{ reference: of.reference, fail }] : [],
  );
  if (unnamed.length === 0) return;
  const rows = await ask<{ wallets: string[] }>(
    `select ledger.wallets_of_reference(r.reference) as wallets
       from unnest($1::text[]) with ordinality as r (reference, place) order by r.place`,
    [unnamed.map(({ reference }) => reference)],
  );
  for (const [place, { reference, fail }] of unnamed.entries()) {
    const { wallets = [] } = rows[place] ?? {};
    if (wallets.length > 1) fail(severalWallets(reference, wallets));
  }
}

function severalWallets(reference: string, wallets: string[]): LedgerError {
  const message = `the reference ${reference} has addresses of several wallets (${wallets.join(', ')})`;
  return new LedgerError('usage', message, {
    cure: `name one in the options, as in { wallet: '${wallets[0]}' }`,
  });
}

/** Returns the number of the latest event; 0 if there is none. */
export async function readHead(ask: Ask): Promise<number> {
  const [row] = await ask<{ head: string }>('select ledger.events_head() as head');
  return Number(row?.head ?? 0);
}

function wentBack(after: number, head: number): LedgerError {
  return new LedgerError(
    'position-ahead',
    `event ${after} was seen, but the feed ends at ${head}: the database went back to an earlier state`,
  );
}
