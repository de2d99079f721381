import { LedgerError } from '../kernel/errors.ts';
import { mapInSlices } from '../kernel/in-slices.ts';
import type { Redactor } from '../kernel/redact.ts';
import type { Decoded, Reject } from '../kernel/wallet-records.ts';
import type { WalletClient } from './wallet-client.ts';

/**
 * Wraps a client so that its errors and rejects contain no secrets, because both are stored. A service may echo the key
 * that it refuses. Records stay as received.
 */
export function redactClient(client: WalletClient, redact: Redactor): WalletClient {
  const clean = async <T extends Decoded<unknown>>(answer: Promise<T>): Promise<T> => {
    try {
      const decoded = await answer;
      if (decoded.rejects.length === 0) return decoded;
      return { ...decoded, rejects: await redactRejects(decoded.rejects, redact) };
    } catch (error) {
      throw withoutSecrets(error, redact);
    }
  };
  return {
    requests: () => client.requests(),
    metered: () => redactClient(client.metered(), redact),
    listTransactions: (query, signal) => clean(client.listTransactions(query, signal)),
    listAddresses: (query, signal) => clean(client.listAddresses(query, signal)),
    getTransaction: (orderNo, signal, query) =>
      clean(client.getTransaction(orderNo, signal, query)),
    listBalances: (signal) => clean(client.listBalances(signal)),
    listCoins: (signal) => clean(client.listCoins(signal)),
    generateAddresses: (request, signal) => clean(client.generateAddresses(request, signal)),
  };
}

/** Characters redacted before yielding to the event loop; 64 KiB, the longest payload, take up to 20 ms. */
const sliceLength = 64 * 1024;

async function redactRejects(rejects: Reject[], redact: Redactor): Promise<Reject[]> {
  // Redacts a text once for all rejects of its row.
  const payloads = [...new Set(rejects.map(({ payload }) => payload))];
  const redacted = await mapInSlices(payloads, sliceLength, ({ length }) => length, redact);
  const shown = new Map(payloads.map((payload, nth) => [payload, redacted[nth] ?? '']));
  return await mapInSlices(
    rejects,
    sliceLength,
    ({ reason }) => reason.length,
    (reject) => ({
      ...reject,
      reason: redact(reject.reason),
      payload: shown.get(reject.payload) ?? '',
    }),
  );
}

function withoutSecrets(error: unknown, redact: Redactor): unknown {
  if (!(error instanceof LedgerError)) return error;
  const message = redact(error.message);
  if (message === error.message) return error;
  return new LedgerError(error.code, message, { cause: error.cause, cure: error.cure });
}
