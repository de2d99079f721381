import { randomUUID } from 'node:crypto';
import type { Ledger } from '../connection/connect-ledger.ts';
import type { Liveness } from '../connection/open-client.ts';

export type SharedLiveness = ReturnType<typeof shareLiveness>;

/** Shares one liveness connection among all requests of a pass. */
export function shareLiveness(ledger: Ledger) {
  let newest: Liveness | null = null;
  let opening: Promise<Liveness> | null = null;
  const held = () => (newest?.isHeld() ? newest : null);
  const open = async (): Promise<Liveness> => {
    newest = await ledger.openLiveness(`${ledger.instance} ${randomUUID().slice(0, 8)}`);
    return newest;
  };
  return {
    held,
    /** Opens the connection on the first need, and again under another name after it was lost. */
    async hold(): Promise<Liveness> {
      const known = held();
      if (known) return known;
      opening ??= open().finally(() => {
        opening = null;
      });
      return await opening;
    },
    async end(): Promise<void> {
      await opening?.catch(() => undefined);
      await held()?.end();
    },
  };
}
