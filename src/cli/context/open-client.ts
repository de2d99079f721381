import { setMaxListeners } from 'node:events';
import { type Clock, systemClock } from '../../kernel/clock.ts';
import type { Ledger } from '../../ledger/connection/connect-ledger.ts';
import { createTicketSource } from '../../ledger/ticket-source.ts';
import { redactClient } from '../../service/redact-client.ts';
import {
  createWalletClient,
  type WalletClient,
  type WalletClientOptions,
} from '../../service/wallet-client.ts';
import type { CommandContext } from './command-context.ts';
import type { OpenedWallet } from './open-wallet.ts';

/** `onPause`: the service asked this process or another one of the wallet to wait, in milliseconds. */
export type ClientObservers = Pick<WalletClientOptions, 'onAttempt' | 'onSend'> & {
  onPause?: (ms: number) => void;
};

/**
 * Opens the client of the wallet's service. Its requests take the tickets of the ledger, which all processes share.
 * `clock`: the database's clock, which the tickets bring.
 */
export function openClient(
  { log, redact, shutdown }: Pick<CommandContext, 'log' | 'redact' | 'shutdown'>,
  ledger: Ledger,
  { service, signer }: OpenedWallet,
  {
    onPause,
    onAttempt,
    onSend,
    onAccepted,
  }: ClientObservers & Pick<WalletClientOptions, 'onAccepted'> = {},
): { client: WalletClient; clock: Clock } {
  // Every request in flight adds a listener.
  setMaxListeners(0, shutdown.signal);
  const tickets = createTicketSource(ledger, service, onPause);
  const client = createWalletClient({
    ...service,
    signer,
    tickets: {
      take: tickets.take,
      async pause(ms) {
        onPause?.(ms);
        await tickets.pause(ms);
      },
    },
    log,
    clock: systemClock,
    // The later of both clocks: a good row keeps its time while one of them is right.
    rowClock: () => Math.max(systemClock(), tickets.clock()),
    random: Math.random,
    ...(onAccepted ? { onAccepted } : {}),
    ...(onSend ? { onSend } : {}),
    ...(onAttempt ? { onAttempt } : {}),
  });
  return { client: redactClient(client, redact), clock: tickets.clock };
}
