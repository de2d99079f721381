import type { Clock } from '../kernel/clock.ts';
import type { ParamNames } from '../kernel/vocabulary.ts';
import type {
  AddressRecord,
  BalanceRecord,
  CoinRecord,
  Page,
  Snapshot,
  TransactionDetailRecord,
  TransactionRecord,
} from '../kernel/wallet-records.ts';
import { decodeBalances } from './decoding/decode-balance.ts';
import { decodeCoins } from './decoding/decode-coin.ts';
import { readSnapshot } from './decoding/read-snapshot.ts';
import {
  addressListCall,
  type DetailQuery,
  generateAddressesCall,
  type PageQuery,
  snapshotCall,
  type TransactionQuery,
  transactionInfoCall,
  transactionListCall,
} from './service-calls.ts';
import {
  createServiceTransport,
  type ServiceTransport,
  type TransportOptions,
} from './transport/call-service.ts';

/**
 * `rowClock`: the clock against which times of rows are checked; default: `clock`. A wrong clock of this machine must
 * not reject them.
 */
export type WalletClientOptions = TransportOptions & { paramNames: ParamNames; rowClock?: Clock };

/**
 * Operations of the service (docs/wallet-service-api.md, section 4). Each rejects with a LedgerError whose code begins
 * with `service-`, with the error of the tickets, or with the signal's reason. Reads are retried if that can help. A
 * refused page size rejects with service-refused or service-unsettled. The latter comes after three answers if more
 * than 10 rows are requested.
 */
export type WalletClient = {
  listTransactions(query: TransactionQuery, signal?: AbortSignal): Promise<Page<TransactionRecord>>;
  listAddresses(
    query: PageQuery & { slip44: number },
    signal?: AbortSignal,
  ): Promise<Page<AddressRecord>>;
  /**
   * Returns one record, or none and a reject if the answer names no order. Throws service-malformed if it names another
   * order. The lane is `current` unless it is named.
   */
  getTransaction(
    orderNo: string,
    signal?: AbortSignal,
    query?: DetailQuery,
  ): Promise<Snapshot<TransactionDetailRecord>>;
  listBalances(signal?: AbortSignal): Promise<Snapshot<BalanceRecord>>;
  listCoins(signal?: AbortSignal): Promise<Snapshot<CoinRecord>>;
  /**
   * Sends the request once. Only service-refused, service-authentication, service-nonce and service-rate-limited mean
   * that no address was generated. After any other rejection, addresses may have been generated.
   */
  generateAddresses(
    request: { slip44: number; num: number },
    signal?: AbortSignal,
  ): Promise<Snapshot<AddressRecord>>;
  /** Number of attempts sent so far. */
  requests(): number;
  /** Returns the same client with its own count, from 0, for one of several concurrent tasks. */
  metered(): WalletClient;
};

export function createWalletClient(options: WalletClientOptions): WalletClient {
  return clientOf(createServiceTransport(options), options);
}

function clientOf(caller: ServiceTransport, options: WalletClientOptions): WalletClient {
  const { call, requests } = caller;
  const { paramNames, rowClock = options.clock } = options;
  const settings = { paramNames, clock: rowClock };

  async function snapshotRows(path: Parameters<typeof snapshotCall>[0], signal?: AbortSignal) {
    return await readSnapshot(
      path,
      (page) => call(snapshotCall(path, page, settings), signal),
      options.clock,
    );
  }

  return {
    requests,
    metered: () => clientOf(caller.metered(), options),
    listTransactions: (query, signal) => call(transactionListCall(query, settings), signal),
    listAddresses: (query, signal) => call(addressListCall(query, settings), signal),
    getTransaction: (orderNo, signal, query = {}) =>
      call(transactionInfoCall(orderNo, query, settings), signal),
    generateAddresses: (request, signal) => call(generateAddressesCall(request, settings), signal),
    async listBalances(signal) {
      const { rows, ...facts } = await snapshotRows('/v1/wallet/balance', signal);
      return { ...facts, ...decodeBalances(rows, rowClock()) };
    },
    async listCoins(signal) {
      const { rows, ...facts } = await snapshotRows('/v1/wallet/coin', signal);
      return { ...facts, ...decodeCoins(rows, rowClock()) };
    },
  };
}
