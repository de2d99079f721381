import type { Clock } from '../kernel/clock.ts';
import { LedgerError } from '../kernel/errors.ts';
import type { Lane } from '../kernel/ticket.ts';
import type { ParamNames } from '../kernel/vocabulary.ts';
import type {
  AddressRecord,
  Decoded,
  Page,
  Snapshot,
  TransactionDetailRecord,
  TransactionRecord,
} from '../kernel/wallet-records.ts';
import { decodeAddresses, decodeGenerated } from './decoding/decode-address.ts';
import { decodeTransactionDetails, decodeTransactions } from './decoding/decode-transaction.ts';
import { openList, openListPage, openObject } from './decoding/open-page.ts';
import { openSnapshotPart, type SnapshotPart } from './decoding/read-snapshot.ts';
import type { Call } from './transport/attempt-call.ts';

export type PageQuery = {
  pageNo: number;
  pageSize: number;
  /**
   * Maximum of unreadable answers, of answers with a code other than 0, and of those such as HTTP 500. Default: three
   * unreadable answers, and three codes if more than 10 rows are requested.
   */
  failuresMax?: number | undefined;
  /** Maximum of answers with a code other than 0; overrides `failuresMax`. */
  unsettledMax?: number | undefined;
  /** The list was empty before: null or [] in place of its page 1 is no fault. */
  isKnownEmpty?: boolean | undefined;
  /** Maximum of attempts, whatever the failure. */
  attemptsMax?: number | undefined;
};

/** A page of transactions; the lane is `head` unless it is named. */
export type TransactionQuery = PageQuery & { type: 'deposit' | 'withdraw'; lane?: Lane };

/**
 * Options of a request for a detail. `isAskedOnce`: no retry after an unreadable answer, a code other than 0, HTTP 5xx
 * or no answer; without it the request is retried as often as any other, but not for long.
 */
export type DetailQuery = { lane?: Lane; isAskedOnce?: boolean };

export type CallSettings = { paramNames: ParamNames; clock: Clock };

type DecodeRows<T> = (rows: readonly unknown[], now: number) => Decoded<T>;

const documentedPageSize = 10;
const refusedSizeAttempts = 3;
/** A smaller page may be readable, so the caller gets the error early. */
const unreadableAttempts = 3;

/** Time (ms) after which an unanswered detail is left to a later pass: one order must not delay the whole pass. */
const unreachableDetailMs = 20_000;

/** Builds the call of the transaction list (docs/wallet-service-api.md, section 4.3). */
export function transactionListCall(
  { lane = 'head', ...query }: TransactionQuery,
  settings: CallSettings,
): Call<Page<TransactionRecord>> {
  const filter: [string, string] = [settings.paramNames.type, query.type];
  const page = pageCall('/v1/transaction/list', filter, query, settings, decodeTransactions);
  return { ...page, lane };
}

/** Builds the call of the address list (docs/wallet-service-api.md, section 4.2). */
export function addressListCall(
  query: PageQuery & { slip44: number },
  settings: CallSettings,
): Call<Page<AddressRecord>> {
  const filter: [string, string] = [settings.paramNames.chain, String(query.slip44)];
  const page = pageCall('/v1/wallet/address/list', filter, query, settings, decodeAddresses);
  return { ...page, lane: 'pools' };
}

/** Builds the call of a transaction's detail by orderNo (docs/wallet-service-api.md, section 4.4). */
export function transactionInfoCall(
  orderNo: string,
  { lane = 'current', isAskedOnce = false }: DetailQuery,
  { clock }: CallSettings,
): Call<Snapshot<TransactionDetailRecord>> {
  return {
    lane,
    ...(isAskedOnce && { unsettledMax: 1, malformedMax: 1 }),
    unreachableMs: isAskedOnce ? 0 : unreachableDetailMs,
    method: 'GET',
    path: '/v1/transaction/info',
    query: [['orderNo', orderNo]],
    decode(data, observation) {
      const decoded = decodeTransactionDetails([openObject(data)], clock());
      if (decoded.records.some((record) => record.orderNo !== orderNo)) {
        throw new LedgerError('service-malformed', 'an answer about another order');
      }
      // An answer without a usable order number is about the requested order.
      const rejects = decoded.rejects.map((reject) => ({ ...reject, orderNo }));
      return { observation, records: decoded.records, rejects };
    },
  };
}

/** Builds the call that generates addresses (docs/wallet-service-api.md, section 4.1). */
export function generateAddressesCall(
  { slip44, num }: { slip44: number; num: number },
  { clock }: CallSettings,
): Call<Snapshot<AddressRecord>> {
  return {
    lane: 'pools',
    method: 'POST',
    path: '/v1/wallet/address',
    json: { slip44, num },
    decode: (data, observation) => ({
      observation,
      ...decodeGenerated(openList(data), num, clock()),
    }),
  };
}

/**
 * Builds the call of balances or coins (docs/wallet-service-api.md, sections 4.5 and 4.6). No parameters are
 * documented, so they are sent only after an answer that is a page.
 */
export function snapshotCall(
  path: '/v1/wallet/balance' | '/v1/wallet/coin',
  page: PageQuery | undefined,
  { paramNames }: CallSettings,
): Call<SnapshotPart> {
  const query = page ? pageParams(page, paramNames) : [];
  const decode: Call<SnapshotPart>['decode'] = (data, observation, isLenient, length) =>
    openSnapshotPart(data, observation, length, isLenient);
  return { lane: 'current', method: 'GET', path, query, decode };
}

function pageCall<T>(
  path: string,
  filter: [string, string],
  query: PageQuery,
  { paramNames, clock }: CallSettings,
  decodeRows: DecodeRows<T>,
): Omit<Call<Page<T>>, 'lane'> {
  // The code may mean that the page is too large, so the caller gets the error early.
  const sizeMax = query.pageSize > documentedPageSize ? refusedSizeAttempts : undefined;
  const unsettledMax = query.unsettledMax ?? query.failuresMax ?? sizeMax;
  const { attemptsMax, failuresMax } = query;
  return {
    method: 'GET',
    path,
    query: [filter, ...pageParams(query, paramNames)],
    ...(unsettledMax !== undefined && { unsettledMax }),
    ...(attemptsMax !== undefined && { attemptsMax }),
    ...(failuresMax !== undefined && { failingMax: failuresMax }),
    malformedMax: query.failuresMax ?? unreadableAttempts,
    decode(data, observation, isLenient) {
      const isNothingExpected = query.isKnownEmpty === true && query.pageNo === 1;
      const opened = openListPage(data, query, isLenient || isNothingExpected);
      const { rows, pageNo, pageSize, ...rest } = opened;
      const listed = rows.length;
      const size = pageSize === null ? { pageSize: listed, isSizeMissing: true } : { pageSize };
      return { ...rest, observation, pageNo, ...size, listed, ...decodeRows(rows, clock()) };
    },
  };
}

function pageParams({ pageNo, pageSize }: PageQuery, names: ParamNames): Array<[string, string]> {
  return [
    [names.page, String(pageNo)],
    [names.size, String(pageSize)],
  ];
}
