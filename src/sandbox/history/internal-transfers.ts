import type { SandboxOptions } from '../sandbox-options.ts';
import { hash32, purpose } from '../seeded-hash.ts';
import { ownAddress } from '../world/chain-address.ts';
import type { Movement } from './movement.ts';
import { planHistory } from './plan-history.ts';

/** Withdrawal of one wallet that another wallet of the sandbox has yet to receive as a deposit. */
export type Transfer = Pick<Movement, 'asset' | 'units'> & {
  /** Number of the recipient's deposit address. */
  addressIndex: number;
  /** Unix ms from which the withdrawal is on the chain. */
  sentAt: number;
  origin: { seed: number; ordinal: number };
};

/** A wallet's transfers to another wallet, and from another one. */
export type Transfers = {
  /** Returns the recipient's address if the withdrawal goes to the other wallet; null when it does not. */
  send(withdrawal: Movement): string | null;
  /** Removes and returns the next transfer that was sent before `time`, Unix ms. */
  take(time: number): Transfer | undefined;
};

type Sender = Pick<SandboxOptions, 'seed' | 'transactions' | 'startedAt' | 'settleMs'>;
type Recipient = Pick<SandboxOptions, 'seed' | 'addressesPerChain'>;

/** One withdrawal in this many is a transfer. */
const transferEvery = 20;
/** Rows at the end of the initial history that send no transfer, so that the recipient's history has all of them. */
const lastRowsWithout = 12;

/**
 * Creates the route from one wallet to another. `growSender` creates the sender's transactions before a time, so that
 * the transfers do not depend on which wallet is read first.
 */
export function createTransferRoute(
  sender: Sender,
  recipient: Recipient,
  growSender: (time: number) => void,
): Transfers {
  const waiting: Transfer[] = [];
  const lastSending = planHistory(sender)(sender.transactions - lastRowsWithout);

  return {
    send({ asset, units, ordinal, fate, time, settledAt }) {
      const draw = hash32(sender.seed, purpose.transfer, ordinal);
      if (fate !== 'success' || draw % transferEvery !== 0) return null;
      const sentAt = Math.ceil((time + settledAt) / 2);
      const isReceived = time > sender.startedAt || sentAt < lastSending;
      if (!isReceived || recipient.addressesPerChain === 0) return null;
      const addressIndex = Math.floor(draw / transferEvery) % recipient.addressesPerChain;
      waiting.push({ asset, units, addressIndex, sentAt, origin: { seed: sender.seed, ordinal } });
      return ownAddress(recipient.seed, asset.chain, addressIndex);
    },
    take(time) {
      growSender(time);
      const next = waiting.findIndex(({ sentAt }) => sentAt < time);
      return next < 0 ? undefined : waiting.splice(next, 1)[0];
    },
  };
}
