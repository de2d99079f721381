import type { Clock } from '../../kernel/clock.ts';
import { LedgerError } from '../../kernel/errors.ts';
import type { ParamNames } from '../../kernel/vocabulary.ts';
import { decodeCoins } from '../../service/decoding/decode-coin.ts';
import { decodeTransactions } from '../../service/decoding/decode-transaction.ts';
import { openPage } from '../../service/decoding/open-page.ts';
import type { Signer } from '../../service/signing/signer.ts';
import { checkConnection } from '../check-connection.ts';
import { createClockTickets } from '../clock-tickets.ts';
import type { Credentials, SigningWay } from '../signing-ways.ts';
import { createServiceAsker, type ServiceAsker } from './ask-service.ts';
import { pageOf } from './find-by-effect.ts';
import { type FoundNames, findNames } from './find-names.ts';
import { findSigner } from './find-signer.ts';

/**
 * Findings from the answers of a service. `pageSize`: the largest size that was granted, null if no answer showed one.
 * `chains`: the chains of the coins. `states`: the states of the rows that were read.
 */
export type Discovery = {
  baseUrl: string;
  way: SigningWay;
  names: FoundNames;
  /** The service ignores or refuses each of the usual names of the page parameter. */
  isPageWrong: boolean;
  pageSize: number | null;
  chains: number[];
  states: string[];
  /** Number of requests, the first one without credentials included. */
  requests: number;
};

/** Upper bound of the requests of one discovery. */
export const requestsMax = 40;
const maxRps = 10;
const usualSize = 100;
const largerSizes = [200, 500];
const smallerSizes = [50, 20, 10];

/** Cuts the end of an address that the program appends itself: `https://host/api/v1/` → `https://host/api`. */
export function withoutVersion(baseUrl: string): string {
  return baseUrl.replace(/\/+$/, '').replace(/\/v1$/i, '');
}

/**
 * Finds out with at most 40 requests which signature, parameter names and page size a service expects. Reads only.
 * Throws LedgerError `settings`, or one of the service.
 */
export async function discoverService(
  given: { baseUrl: string; credentials: Credentials; timeoutMs: number },
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): Promise<Discovery> {
  const { credentials, timeoutMs } = given;
  const baseUrl = withoutVersion(given.baseUrl);
  const unreachable = (await checkConnection(baseUrl, timeoutMs)).find(
    ({ verdict }) => verdict === 'bad',
  );
  if (unreachable) {
    const { seen, cure } = unreachable;
    throw new LedgerError('service-unreachable', seen, { cure });
  }
  const tickets = createClockTickets(clock, { maxRps, nonceUnit: 'ms' });
  const asker = createServiceAsker({ tickets, clock, signal, baseUrl, timeoutMs }, requestsMax - 1);
  const { way, signer, coins } = await findSigner(asker, credentials);
  const chains = chainsOf(coins, clock());
  const { names, isPageWrong, rows } = await findNames(asker, signer, chains);
  const sizes = names.size === null ? null : await findPageSize(asker, signer, names.size);
  const states = decodeTransactions([...rows, ...(sizes?.rows ?? [])], clock()).records.flatMap(
    ({ state }) => state ?? [],
  );
  return {
    baseUrl,
    way,
    names,
    isPageWrong,
    pageSize: sizes?.pageSize ?? null,
    chains,
    states: [...new Set(states)].sort(),
    requests: requestsMax - asker.left(),
  };
}

/** Uses the default name for each parameter whose name was not found. */
export function completeNames(names: FoundNames, usual: ParamNames): ParamNames {
  return {
    page: names.page ?? usual.page,
    size: names.size ?? usual.size,
    type: names.type ?? usual.type,
    chain: names.chain ?? usual.chain,
  };
}

function chainsOf(coins: unknown, now: number): number[] {
  const rows = Array.isArray(coins) ? coins : openPage(coins).rows;
  return [...new Set(decodeCoins(rows, now).records.map(({ slip44 }) => slip44))];
}

type GrantedPage = { pageSize: number; rows: unknown[] };

/** Requests a usual page, then smaller ones until one is granted, or larger ones as long as they are granted. */
async function findPageSize(
  asker: ServiceAsker,
  signer: Signer,
  name: string,
): Promise<GrantedPage | null> {
  const request = async (size: number): Promise<GrantedPage | null> => {
    if (asker.left() === 0) return null;
    const page = pageOf(await asker.ask(signer, '/v1/transaction/list', [[name, String(size)]]));
    return page && { pageSize: page.pageSize ?? size, rows: page.rows };
  };
  let best = await request(usualSize);
  if (best === null) {
    for (const size of smallerSizes) best ??= await request(size);
    return best;
  }
  for (const size of largerSizes) {
    if (best.pageSize < usualSize) return best;
    const larger = await request(size);
    if (larger === null || larger.pageSize < size) return best;
    best = larger;
  }
  return best;
}
