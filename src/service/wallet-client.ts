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
  generateAddressesCall,
  type PageQuery,
  type ParamNames,
  snapshotCall,
  transactionInfoCall,
  transactionListCall,
} from './service-calls.ts';
import {
  createServiceTransport,
  type ServiceTransport,
  type TransportOptions,
} from './transport/call-service.ts';

export type WalletClientOptions = TransportOptions & { paramNames: ParamNames };

/**
 * The operations of the service (section 4 of its document). Each rejects with a LedgerError whose code begins with
 * `service-`, with what the tickets reject with, or with the signal's reason. Reads are repeated where that can
 * help. A refused page size shows as service-refused or service-unsettled, the latter after three answers while
 * more than 10 rows are asked for.
 */
export type WalletClient = {
  listTransactions(
    query: PageQuery & { type: 'deposit' | 'withdraw' },
    signal?: AbortSignal,
  ): Promise<Page<TransactionRecord>>;
  listAddresses(
    query: PageQuery & { slip44: number },
    signal?: AbortSignal,
  ): Promise<Page<AddressRecord>>;
  /** One record, or none and a reject when the answer names no order; another order's is service-malformed. */
  getTransaction(orderNo: string, signal?: AbortSignal): Promise<Snapshot<TransactionDetailRecord>>;
  listBalances(signal?: AbortSignal): Promise<Snapshot<BalanceRecord>>;
  listCoins(signal?: AbortSignal): Promise<Snapshot<CoinRecord>>;
  /**
   * Sent once. Refused for certain with service-refused, service-authentication and service-rate-limited; after any
   * other rejection, whatever it is, addresses may have been generated.
   */
  generateAddresses(
    request: { slip44: number; num: number },
    signal?: AbortSignal,
  ): Promise<Snapshot<AddressRecord>>;
  /** Attempts sent so far. */
  requests(): number;
  /** The same client with a count of its own, from 0: for one of several parts that work side by side. */
  metered(): WalletClient;
};

export function createWalletClient(options: WalletClientOptions): WalletClient {
  return clientOf(createServiceTransport(options), options);
}

function clientOf(caller: ServiceTransport, options: WalletClientOptions): WalletClient {
  const { call, requests } = caller;

  async function snapshotRows(path: Parameters<typeof snapshotCall>[0], signal?: AbortSignal) {
    return await readSnapshot(
      path,
      (page) => call(snapshotCall(path, page, options), signal),
      options.clock,
    );
  }

  return {
    requests,
    metered: () => clientOf(caller.metered(), options),
    listTransactions: (query, signal) => call(transactionListCall(query, options), signal),
    listAddresses: (query, signal) => call(addressListCall(query, options), signal),
    getTransaction: (orderNo, signal) => call(transactionInfoCall(orderNo, options), signal),
    generateAddresses: (request, signal) => call(generateAddressesCall(request, options), signal),
    async listBalances(signal) {
      const { observation, rows } = await snapshotRows('/v1/wallet/balance', signal);
      return { observation, ...decodeBalances(rows, options.clock()) };
    },
    async listCoins(signal) {
      const { observation, rows } = await snapshotRows('/v1/wallet/coin', signal);
      return { observation, ...decodeCoins(rows, options.clock()) };
    },
  };
}
