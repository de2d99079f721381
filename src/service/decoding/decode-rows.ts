import { LedgerError } from '../../kernel/errors.ts';
import type { Decoded, RecordSource, Reject } from '../../kernel/wallet-records.ts';
import { limits } from '../limits.ts';
import { type FieldReader, Unreadable } from './field-readers.ts';
import { payloadText } from './json-text.ts';

/** A row of the service before decoding. */
export type RawRow = Record<string, unknown>;

/**
 * One field of a record: the service's name and its reader. A `key` field that cannot be read rejects the whole row,
 * which could not be stored without it.
 */
type Field<V> = { from: string; read: FieldReader<V | null>; isKey?: boolean };

export type FieldTable<R> = { [K in keyof R]: Field<R[K]> };

export type RowDecoder<R> = (row: unknown, now: number, rejects: Reject[]) => R | null;

/**
 * Builds the decoder of one row from a table of its fields. The decoder never throws. A field that cannot be read
 * becomes null, or the nearest storable value, and yields a reject; the record's `unreadable` names it. A row that
 * cannot be stored yields a reject too.
 */
export function rowDecoder<R extends object>(
  source: RecordSource,
  table: FieldTable<R>,
): RowDecoder<R> {
  const fields = Object.entries<Field<unknown>>(table);
  return (row, now, rejects) => {
    if (!isRow(row)) {
      rejects.push(rejectRow(source, row, null, 'not an object'));
      return null;
    }
    const record: Record<string, unknown> = {};
    const problems = readFields(fields, row, now, record);
    if (problems.length === 0) return record as R;
    const lost = problems.find(({ isKey }) => isKey);
    if (lost) {
      rejects.push(rejectRow(source, row, lost.from, lost.reason));
      return null;
    }
    record['unreadable'] = problems.map(({ from }) => from);
    const payload = payloadText(row);
    const orderNo = typeof record['orderNo'] === 'string' ? record['orderNo'] : null;
    for (const { from, reason } of problems) {
      rejects.push({ source, orderNo, field: from, reason: `${from} is ${reason}`, payload });
    }
    return record as R;
  };
}

type Problem = { from: string; reason: string; isKey: boolean };

const noProblems: readonly Problem[] = [];

/** Reads the fields into the record. */
function readFields(
  fields: Array<[string, Field<unknown>]>,
  row: RawRow,
  now: number,
  record: Record<string, unknown>,
): readonly Problem[] {
  let problems = noProblems;
  for (const [name, { from, read, isKey = false }] of fields) {
    const value = read(Object.hasOwn(row, from) ? row[from] : undefined, now);
    if (value instanceof Unreadable) {
      record[name] = value.stored;
      problems = [...problems, { from, reason: value.reason, isKey }];
    } else {
      record[name] = value;
    }
  }
  return problems;
}

function isRow(row: unknown): row is RawRow {
  return typeof row === 'object' && row !== null && !Array.isArray(row);
}

/**
 * Decodes all rows of an answer; `now` is in Unix milliseconds. Throws service-malformed if the rejects exceed the
 * limits of one answer.
 */
export function decodeRows<R>(rows: readonly unknown[], decode: RowDecoder<R>, now: number) {
  const decoded: Decoded<R> = { records: [], rejects: [] };
  let counted = 0;
  let length = 0;
  for (const row of rows) {
    const record = decode(row, now, decoded.rejects);
    if (record !== null) decoded.records.push(record);
    for (; counted < decoded.rejects.length; counted += 1)
      length += decoded.rejects[counted]?.payload.length ?? 0;
    assertWithin('answerRejects', counted);
    assertWithin('rejectsLength', length);
  }
  return decoded;
}

function assertWithin(name: 'answerRejects' | 'rejectsLength', amount: number): void {
  const { max, unit } = limits[name];
  if (amount <= max) return;
  const message = `an answer with unreadable fields of more than ${max} ${unit}`;
  throw new LedgerError('service-malformed', message);
}

/** Decodes the rows of a snapshot, in which each key occurs once: keeps the first row and rejects later ones. */
export function decodeSnapshotRows<R>(
  source: RecordSource,
  rows: readonly unknown[],
  decode: RowDecoder<R>,
  now: number,
  keyOf: (record: R) => string,
): Decoded<R> {
  const seen = new Set<string>();
  const decodeOnce: RowDecoder<R> = (row, at, rejects) => {
    const record = decode(row, at, rejects);
    if (record === null) return null;
    const key = keyOf(record);
    if (!seen.has(key)) {
      seen.add(key);
      return record;
    }
    rejects.push(rejectRow(source, row, null, 'the same key occurs twice in the snapshot'));
    return null;
  };
  return decodeRows(rows, decodeOnce, now);
}

function rejectRow(
  source: RecordSource,
  row: unknown,
  field: string | null,
  problem: string,
): Reject {
  const reason = field === null ? problem : `${field} is ${problem}`;
  return { source, orderNo: null, field, reason, payload: payloadText(row) };
}
