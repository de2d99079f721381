import type { Ledger, LedgerDb } from '../../ledger/connection/connect-ledger.ts';
import { saveStream } from '../../ledger/lists/stream-state-store.ts';
import type { Checkpoint } from '../list/list-checkpoint.ts';
import type { Stored } from '../list/list-port.ts';
import { doubtOf, type ListState } from '../list/list-state.ts';
import { afterTotalBeside } from '../list/reported-totals.ts';
import { takenOver } from './lease-list.ts';

/** Result of a save: the ledger's counts, and the number of the answer whose total is stored now. */
type Saved = Pick<Stored, 'ledgerCount' | 'guests' | 'conflicts' | 'totalBeside'> & {
  totalObservation: number;
};

/** Writes the list's state, as the last statement of each transaction that changes the list's rows. */
export type SaveState = (db: LedgerDb, state: ListState) => Promise<Saved>;

/** Writes of the state of one list during one pass. */
export type Saves = {
  /** Prepares the save of this state, or of one that follows from it. */
  prepare(current: ListState): SaveState;
  /** Call it with the result of a prepared save after its transaction has committed. */
  end(saved: Saved): void;
  /** Commits a change of the ledger's rows together with the state. */
  saveWith(state: ListState, change: (db: LedgerDb) => Promise<unknown>): Promise<Stored>;
};

type OwnedList = { name: string; owner: string; opened: ListState };

/** Saves with the page sizes that are remembered at the time of the preparation. */
export function createSaves(
  ledger: Ledger,
  { name, owner, opened }: OwnedList,
  rememberedSizes: () => Partial<Checkpoint>,
): Saves {
  let { walks } = opened.checkpoint;
  let known = opened.totalObservation;
  const saves: Saves = {
    prepare(current) {
      const { isScanUnclean } = current.checkpoint;
      const hasWalked = current.checkpoint.walks > walks && !isScanUnclean;
      walks = current.checkpoint.walks;
      const sizes = rememberedSizes();
      const save = async (db: LedgerDb, state: ListState, last: number) => {
        const checkpoint = { ...state.checkpoint, ...sizes };
        const row = { ...state, checkpoint, doubt: doubtOf(state), hasWalked };
        const saved = await saveStream(db, name, owner, last, row);
        if (saved) return saved;
        throw takenOver(name);
      };
      return async (db, next) => {
        const { counts, before } = await save(db, next, known);
        if (counts)
          return { ...counts, totalBeside: null, totalObservation: next.totalObservation };
        const reported = afterTotalBeside(next, before);
        const again = await save(db, reported, before.totalObservation);
        if (!again.counts)
          throw new Error(`another total of the list ${name} was stored meanwhile`);
        const { totalObservation } = reported;
        return { ...again.counts, totalBeside: before, totalObservation };
      };
    },
    end({ totalObservation }) {
      known = totalObservation;
    },
    async saveWith(state, change) {
      const save = saves.prepare(state);
      const saved = await ledger.transaction(async (db) => {
        await change(db);
        return save(db, state);
      });
      saves.end(saved);
      return { inserted: 0, differingDays: [], ...saved };
    },
  };
  return saves;
}
