import { LedgerError, toError } from '../../kernel/errors.ts';
import { databaseError } from '../../ledger/connection/database-error.ts';
import { withChainCure } from './chain-refusal.ts';
import type { PoolTools } from './pool-port.ts';

export type ListReading = {
  signal: AbortSignal;
  /** Behaviour while another process waits for an answer, or a list is not trusted yet after a lost answer. */
  whenBusy: 'skip' | 'wait';
  /** The list may count rows that it does not show, because its answer is known. Absent: it may not. */
  isAnswered?: boolean;
};

/**
 * Reads the chain's list to its end. Returns true if the ledger lacks none of its rows; with `isAnswered`, also if it
 * lacks some. A list without a total is read until it shows nothing new.
 */
export async function readAddressList(
  { pools }: PoolTools,
  slip44: number,
  options: ListReading,
): Promise<boolean> {
  const read = await pools.readList(slip44, {
    signal: options.signal,
    // The job that reads the lists may begin at the same moment; if this reading were skipped, the pool would wait for
    // the next pass.
    ifLeased: options.whenBusy === 'wait' ? 'wait' : 'briefly',
    sliceMs: null,
    effort: 'pool',
  });
  return read !== undefined && (options.isAnswered === true || (read.missing ?? 0) <= 0);
}

const retiredCure =
  'the chain is not in ADDRESS_POOLS, and is no longer awaited once `wallet-ledger recover` has recorded which addresses were handed out';

/**
 * Reads the list of a chain that may share addresses. Returns the reason that applies if the ledger still counts it as
 * unread.
 */
export async function readSibling(
  context: PoolTools,
  slip44: number,
  options: ListReading,
): Promise<string> {
  try {
    const isRead = await readAddressList(context, slip44, options);
    return isRead
      ? 'not read from end to end yet'
      : 'another process reads it, or rows are missing';
  } catch (thrown) {
    const error = databaseError(toError(thrown));
    options.signal.throwIfAborted();
    if (!(error instanceof LedgerError && error.code.startsWith('service-'))) throw error;
    context.log.warn({ slip44, error }, 'the address list of a related chain could not be read');
    const { chains, chainParam } = context.settings;
    const wayOut = chains.includes(slip44) ? '' : `; ${retiredCure}`;
    return `${withChainCure(error.message, chainParam)}${wayOut}`;
  }
}
