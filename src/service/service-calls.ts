import type { Clock } from '../kernel/clock.ts';
import { LedgerError } from '../kernel/errors.ts';
import type {
  AddressRecord,
  Decoded,
  Page,
  Snapshot,
  TransactionDetailRecord,
  TransactionRecord,
} from '../kernel/wallet-records.ts';
import { decodeAddresses } from './decoding/decode-address.ts';
import { decodeTransactionDetails, decodeTransactions } from './decoding/decode-transaction.ts';
import { openList, openListPage, openObject } from './decoding/open-page.ts';
import { openSnapshotPart, type SnapshotPart } from './decoding/read-snapshot.ts';
import type { Call } from './transport/attempt-call.ts';

/** Names of the query parameters, which docs/wallet-service-api.md does not show (sections 4.2 and 4.3). */
export type ParamNames = { page: string; size: string; chain: string; type: string };

export type PageQuery = {
  pageNo: number;
  pageSize: number;
  /**
   * Maximum of unreadable answers, and of answers with a code other than 0. Default: three unreadable answers, and
   * three codes if more than 10 rows are requested.
   */
  failuresMax?: number | undefined;
};

export type CallSettings = { paramNames: ParamNames; clock: Clock };

type DecodeRows<T> = (rows: readonly unknown[], now: number) => Decoded<T>;

const documentedPageSize = 10;
const refusedSizeAttempts = 3;
/** A smaller page may be readable, so the caller gets the error early. */
const unreadableAttempts = 3;

/** Builds the call of the transaction list (docs/wallet-service-api.md, section 4.3). */
export function transactionListCall(
  query: PageQuery & { type: string },
  settings: CallSettings,
): Call<Page<TransactionRecord>> {
  const filter: [string, string] = [settings.paramNames.type, query.type];
  return pageCall('/v1/transaction/list', filter, query, settings, decodeTransactions);
}

/** Builds the call of the address list (docs/wallet-service-api.md, section 4.2). */
export function addressListCall(
  query: PageQuery & { slip44: number },
  settings: CallSettings,
): Call<Page<AddressRecord>> {
  const filter: [string, string] = [settings.paramNames.chain, String(query.slip44)];
  return pageCall('/v1/wallet/address/list', filter, query, settings, decodeAddresses);
}

/** Builds the call of a transaction's detail by orderNo (docs/wallet-service-api.md, section 4.4). */
export function transactionInfoCall(
  orderNo: string,
  { clock }: CallSettings,
): Call<Snapshot<TransactionDetailRecord>> {
  return {
    method: 'GET',
    path: '/v1/transaction/info',
    query: [['orderNo', orderNo]],
    decode(data, observation) {
      const decoded = decodeTransactionDetails([openObject(data)], clock());
      if (decoded.records.some((record) => record.orderNo !== orderNo)) {
        throw new LedgerError('service-malformed', 'an answer that tells of another order');
      }
      return { observation, ...decoded };
    },
  };
}

/** Builds the call that generates addresses (docs/wallet-service-api.md, section 4.1). */
export function generateAddressesCall(
  { slip44, num }: { slip44: number; num: number },
  { clock }: CallSettings,
): Call<Snapshot<AddressRecord>> {
  return {
    method: 'POST',
    path: '/v1/wallet/address',
    json: { slip44, num },
    decode: (data, observation) => ({ observation, ...decodeAddresses(openList(data), clock()) }),
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
  const decode: Call<SnapshotPart>['decode'] = (data, observation, _, length) =>
    openSnapshotPart(data, observation, length);
  return { method: 'GET', path, query, decode };
}

function pageCall<T>(
  path: string,
  filter: [string, string],
  query: PageQuery,
  { paramNames, clock }: CallSettings,
  decodeRows: DecodeRows<T>,
): Call<Page<T>> {
  // The code may mean that the page is too large, so the caller gets the error early.
  const sizeMax = query.pageSize > documentedPageSize ? refusedSizeAttempts : undefined;
  const unsettledMax = query.failuresMax ?? sizeMax;
  return {
    method: 'GET',
    path,
    query: [filter, ...pageParams(query, paramNames)],
    ...(unsettledMax !== undefined && { unsettledMax }),
    malformedMax: query.failuresMax ?? unreadableAttempts,
    decode(data, observation, isLenient) {
      const { rows, pageNo, pageSize, totalSize } = openListPage(data, query, isLenient);
      const listed = rows.length;
      const page = { observation, pageNo, pageSize: pageSize ?? listed, totalSize, listed };
      return { ...page, ...decodeRows(rows, clock()) };
    },
  };
}

function pageParams({ pageNo, pageSize }: PageQuery, names: ParamNames): Array<[string, string]> {
  return [
    [names.page, String(pageNo)],
    [names.size, String(pageSize)],
  ];
}
