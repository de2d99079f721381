import type { TransactionType } from '../../kernel/vocabulary.ts';
import type { Asset } from '../world/wallet-assets.ts';
import { drawFate, drawFee, drawLifeMs, drawUnits } from './draw-movement.ts';
import type { Movement } from './movement.ts';

/** Row of arbitrary JSON text, listed at its time. */
export type RawRow = {
  kind: 'raw';
  type: TransactionType;
  time: number;
  listText: string;
  detailText: string;
  /** Key for the detail endpoint; null: that endpoint does not find the row. */
  orderNo: string | null;
};

export type Row = Movement | RawRow;

/** Properties of a movement that replace the drawn ones. */
type MovementException = Partial<
  Pick<Movement, 'units' | 'toAddress' | 'origin'> & { forcedState: string }
>;

export type NewMovement = Pick<Movement, 'type' | 'asset' | 'time' | 'addressIndex'> &
  MovementException;

/**
 * All rows ever created, by ordinal. Stores a few numbers per movement and draws the rest again on each read, so that a
 * million rows need little time and memory.
 */
export type RowStore = {
  /** Ordinal of the next row. */
  readonly length: number;
  append(movement: NewMovement): void;
  appendRaw(row: RawRow): void;
  timeOf(ordinal: number): number;
  typeOf(ordinal: number): TransactionType;
  read(ordinal: number): Row;
  rawAt(ordinal: number): RawRow | undefined;
  forceState(ordinal: number, state: string): void;
  setRecipient(ordinal: number, toAddress: string): void;
};

export function createRowStore(
  { seed, settleMs }: { seed: number; settleMs: number },
  assets: readonly Asset[],
): RowStore {
  const times: number[] = [];
  const types: TransactionType[] = [];
  const assetIndexes: number[] = [];
  const addressIndexes: number[] = [];
  const exceptions = new Map<number, MovementException>();
  const raws = new Map<number, RawRow>();
  const assetNumbers = new Map(assets.map((asset, i) => [asset, i]));

  const typeOf = (ordinal: number) => types[ordinal] ?? 'deposit';
  const timeOf = (ordinal: number) => times[ordinal] ?? 0;

  function push(time: number, type: TransactionType, assetIndex: number, addressIndex: number) {
    times.push(time);
    types.push(type);
    assetIndexes.push(assetIndex);
    addressIndexes.push(addressIndex);
  }

  function change(ordinal: number, exception: MovementException) {
    exceptions.set(ordinal, { ...exceptions.get(ordinal), ...exception });
  }

  function readMovement(ordinal: number): Movement {
    const type = typeOf(ordinal);
    const time = timeOf(ordinal);
    const asset = assets[assetIndexes[ordinal] ?? -1];
    if (asset === undefined) throw new Error(`no row ${ordinal}`);
    const own = exceptions.get(ordinal);
    const addressIndex = addressIndexes[ordinal] ?? -1;
    return {
      kind: 'movement',
      ordinal,
      type,
      asset,
      time,
      units: own?.units ?? drawUnits(seed, ordinal, type, asset),
      feeUnits: type === 'deposit' ? 0n : drawFee(seed, ordinal, asset.chain),
      fate: drawFate(seed, ordinal, type),
      settledAt: time + drawLifeMs(seed, ordinal, settleMs),
      toAddress: own?.toAddress ?? null,
      addressIndex: addressIndex < 0 ? null : addressIndex,
      forcedState: own?.forcedState ?? null,
      origin: own?.origin ?? null,
    };
  }

  return {
    get length() {
      return times.length;
    },
    append({ type, asset, time, addressIndex, ...exception }) {
      if (Object.keys(exception).length > 0) exceptions.set(times.length, exception);
      push(time, type, assetNumbers.get(asset) ?? -1, addressIndex ?? -1);
    },
    appendRaw(row) {
      raws.set(times.length, row);
      push(row.time, row.type, -1, -1);
    },
    timeOf,
    typeOf,
    read: (ordinal) => raws.get(ordinal) ?? readMovement(ordinal),
    rawAt: (ordinal) => raws.get(ordinal),
    forceState: (ordinal, forcedState) => change(ordinal, { forcedState }),
    setRecipient: (ordinal, toAddress) => change(ordinal, { toAddress }),
  };
}
