import type { SandboxOptions } from '../sandbox-options.ts';
import { drawFate } from './draw-movement.ts';
import type { Transfer, Transfers } from './internal-transfers.ts';
import { type Inventor, inventMovement, receiveTransfer } from './invent-movement.ts';
import { planTimes } from './plan-history.ts';
import type { RowStore } from './row-store.ts';

export type Growth = {
  /** Creates the rows that are planned until now. */
  growDue(): void;
  /** Creates the rows that are planned before `time`, Unix ms, which is not in the future. */
  growBefore(time: number): void;
};

/** Creates the planned rows of a history: the initial ones, and the arrivals. `transfers`: null for a single wallet. */
export function createGrowth(
  options: SandboxOptions,
  store: RowStore,
  inventor: Inventor,
  transfers: Transfers | null,
): Growth {
  const { seed, clock, startedAt, transactions, arrivalsPerSecond } = options;
  const timeAt = planTimes(options);
  let planned = 0;

  function appendNext(): void {
    const index = planned++;
    const ordinal = store.length;
    const transfer = transfers && takeTransfer(transfers, index, ordinal);
    store.append(
      transfer
        ? receiveTransfer(inventor, ordinal, arrivalOf(transfer, index), transfer)
        : inventMovement(inventor, ordinal, timeAt(index), {}),
    );
    if (transfers && store.typeOf(ordinal) === 'withdraw') sendOn(transfers, ordinal);
  }

  function takeTransfer({ take }: Transfers, index: number, ordinal: number) {
    const willSucceed = drawFate(seed, ordinal, 'deposit') === 'success';
    return willSucceed ? take(timeAt(index)) : undefined;
  }

  // A transfer of the initial history arrives when it is sent, but not before an earlier row. An arrival is never late.
  function arrivalOf({ sentAt }: Transfer, index: number): number {
    if (index >= transactions || index === 0) return timeAt(index);
    return Math.max(sentAt, timeAt(index - 1));
  }

  function sendOn({ send }: Transfers, ordinal: number): void {
    const withdrawal = store.read(ordinal);
    const recipient = withdrawal.kind === 'movement' ? send(withdrawal) : null;
    if (recipient !== null) store.setRecipient(ordinal, recipient);
  }

  return {
    growDue() {
      const arrivals = Math.floor(((clock() - startedAt) * arrivalsPerSecond) / 1_000);
      const due = transactions + Math.max(0, arrivals);
      while (planned < due) appendNext();
    },
    growBefore(time) {
      while (timeAt(planned) < time) appendNext();
    },
  };
}
