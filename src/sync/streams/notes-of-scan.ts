import { verifyDays } from '../../ledger/lists/coverage-store.ts';
import {
  countNotedKeys,
  dropUnseenGuests,
  forgetKeys,
} from '../../ledger/lists/scan-notes-store.ts';
import type { ScanNotes } from '../list/list-port.ts';
import { unstoredMax } from '../list/read-days.ts';
import type { SyncContext } from '../sync-context.ts';
import { takenOver } from './lease-list.ts';
import type { Saves } from './save-state.ts';
import type { Stream } from './stream.ts';

/** Returns the notes of a list's scan, for the owner of the list's lease. */
export function notesOf<T>(
  context: SyncContext,
  stream: Stream<T>,
  owner: string,
  saveWith: Saves['saveWith'],
): ScanNotes {
  const { db } = context.ledger;
  const { name } = stream;
  return {
    async begin() {
      if (!(await forgetKeys(db, name, owner))) throw takenOver(name);
    },
    count: () => countNotedKeys(db, name),
    unseen: (limit) => stream.unseen(db, limit),
    dropUnseenGuests: (state) => saveWith(state, (tx) => dropUnseenGuests(tx, name)),
    verifyAll: (state) =>
      saveWith(state, async (tx) => {
        await stream.afterWholeScan?.(tx);
        const { unstored = [] } = state.checkpoint.walk ?? {};
        if (unstored.length <= unstoredMax) await verifyDays(tx, name, true, unstored);
      }),
  };
}
