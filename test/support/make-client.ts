import { createSigner } from '../../src/service/signing/create-signer.ts';
import {
  createWalletClient,
  type WalletClient,
  type WalletClientOptions,
} from '../../src/service/wallet-client.ts';
import { type LogLine, recordLog } from './record-log.ts';

export const testSecret = '6d59626f7ffffa64f8a6b36e9fcc9551b54a1dfebb973606d24578adecebfbaf';

export type Harness = {
  client: WalletClient;
  /** Tickets taken so far. */
  tickets: string[];
  pauses: number[];
  log: LogLine[];
  attempts: Array<{ endpoint: string; outcome: string; seconds: number }>;
};

/** A client with quick retries, its own tickets and a log that a test can read. */
export async function makeClient(
  baseUrl: string,
  options: Partial<WalletClientOptions> = {},
): Promise<Harness> {
  const tickets: string[] = [];
  const pauses: number[] = [];
  const { log, lines } = recordLog();
  const attempts: Harness['attempts'] = [];
  const client = createWalletClient({
    baseUrl,
    signer: await createSigner({ signer: 'params-secp256k1', apiSecret: testSecret }),
    tickets: {
      async take() {
        tickets.push(String(1_700_000_000_000 + tickets.length));
        return { observation: tickets.length, nonce: tickets.at(-1) ?? '' };
      },
      async pause(ms) {
        pauses.push(ms);
      },
    },
    paramNames: { page: 'pageNo', size: 'pageSize', chain: 'slip44', type: 'type' },
    concurrency: 8,
    timeoutMs: 30_000,
    retry: { attemptsMax: 8, baseDelayMs: 1, delayMaxMs: 2 },
    log,
    clock: Date.now,
    random: Math.random,
    onAttempt: (attempt) => attempts.push(attempt),
    ...options,
  });
  return { client, tickets, pauses, log: lines, attempts };
}
