import type { TransactionRecord } from '../../kernel/wallet-records.ts';
import type { LedgerDb } from '../../ledger/connection/connect-ledger.ts';
import type { RowDifference, UnreadableFields } from '../../ledger/row-difference.ts';
import { readUnreadable } from '../../ledger/transactions/reject-store.ts';

/** Upper bound of the details that one comparison requests because its list does not show a field readably. */
const detailsMax = 200;

/** The rows of one comparison with fields that the service does not show readably although the ledger holds a value. */
export type UnreadableRows = {
  /**
   * Returns those of the rows that the list does not show readably, at most up to a bound, without those whose detail
   * was requested before. A readable value of the detail counts.
   */
  askable(rows: TransactionRecord[]): Promise<string[]>;
  /** Notes which of the rows are unreadable; call it after their rejects were stored or resolved. */
  note(rows: TransactionRecord[]): Promise<void>;
  /** Returns the noted rows, without the fields that another answer showed and that differ. */
  except(different: RowDifference[]): UnreadableFields[];
};

export function createUnreadableRows(db: LedgerDb): UnreadableRows {
  const asked = new Set<string>();
  const noted = new Map<string, string[]>();
  const read = (rows: TransactionRecord[]) =>
    readUnreadable(
      db,
      rows.map(({ orderNo }) => orderNo),
    );
  return {
    async askable(rows) {
      const found = await read(rows.filter(({ unreadable }) => unreadable !== undefined));
      const orderNos = found
        .map(({ orderNo }) => orderNo)
        .filter((orderNo) => !asked.has(orderNo))
        .slice(0, detailsMax - asked.size);
      for (const orderNo of orderNos) asked.add(orderNo);
      return orderNos;
    },
    async note(rows) {
      for (const { orderNo } of rows) noted.delete(orderNo);
      for (const { orderNo, fields } of await read(rows)) noted.set(orderNo, fields);
    },
    except(different) {
      const shown = new Set(
        different.flatMap(({ orderNo, fields }) => fields.map((field) => `${field} ${orderNo}`)),
      );
      return [...noted]
        .map(([orderNo, fields]) => ({
          orderNo,
          fields: fields.filter((field) => !shown.has(`${field} ${orderNo}`)),
        }))
        .filter(({ fields }) => fields.length > 0);
    },
  };
}
