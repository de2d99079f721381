import { randomUUID } from 'node:crypto';
import type { Ledger, Presence } from '../ledger/connect-ledger.ts';

/** One connection shows for all the work of a pass that its process lives. */
export type SharedPresence = {
  /** Opens it with the first need, and anew under another name when it has been lost. */
  hold(): Promise<Presence>;
  end(): Promise<void>;
};

export function sharePresence(ledger: Ledger): SharedPresence {
  let held: Presence | null = null;
  let opening: Promise<Presence> | null = null;

  async function open(): Promise<Presence> {
    held = await ledger.announce(`${ledger.instance} ${randomUUID().slice(0, 8)}`);
    return held;
  }

  return {
    async hold() {
      if (held?.isHeld()) return held;
      opening ??= open().finally(() => {
        opening = null;
      });
      return await opening;
    },
    async end() {
      await opening?.catch(() => undefined);
      if (held?.isHeld()) await held.end();
    },
  };
}
