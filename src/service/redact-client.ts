import { LedgerError } from '../kernel/errors.ts';
import { mapInSlices } from '../kernel/in-slices.ts';
import type { Redactor } from '../kernel/redact.ts';
import type { Decoded, Reject, TransactionRecord } from '../kernel/wallet-records.ts';
import type { WalletClient } from './wallet-client.ts';

/**
 * Wraps a client so that its errors, its rejects and the undocumented fields of its records contain no secrets, because
 * all of them are stored. A service may echo the key that it refuses, or the headers of a request. The documented
 * fields of records stay as received.
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
    listTransactions: async (query, signal) =>
      await redactExtras(await clean(client.listTransactions(query, signal)), redact),
    listAddresses: (query, signal) => clean(client.listAddresses(query, signal)),
    getTransaction: async (orderNo, signal, query) =>
      await redactExtras(await clean(client.getTransaction(orderNo, signal, query)), redact),
    listBalances: (signal) => clean(client.listBalances(signal)),
    listCoins: (signal) => clean(client.listCoins(signal)),
    generateAddresses: (request, signal) => clean(client.generateAddresses(request, signal)),
  };
}

/** Characters redacted before yielding to the event loop; a longer text, of up to 64 KiB, takes up to 20 ms. */
const sliceLength = 16 * 1024;

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

async function redactExtras<T extends Decoded<TransactionRecord>>(
  answer: T,
  redact: Redactor,
): Promise<T> {
  if (answer.records.every(({ extra }) => extra === null)) return answer;
  const records = await mapInSlices(
    answer.records,
    sliceLength,
    ({ extra }) => extra?.length ?? 0,
    (record) =>
      record.extra === null ? record : { ...record, extra: redactJson(record.extra, redact) },
  );
  return { ...answer, records };
}

/** Redacts a JSON text, which stays one: a secret that is split over several values takes all of them with it. */
function redactJson(json: string, redact: Redactor): string {
  const shown = redact(json);
  if (shown === json) return json;
  try {
    JSON.parse(shown);
    return shown;
  } catch {
    return '{"redacted":true}';
  }
}

function withoutSecrets(error: unknown, redact: Redactor): unknown {
  if (!(error instanceof LedgerError)) return error;
  const message = redact(error.message);
  if (message === error.message) return error;
  return new LedgerError(error.code, message, { cause: error.cause, cure: error.cure });
}
