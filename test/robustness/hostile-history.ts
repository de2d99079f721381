import { seededRandom } from '../support/seeded-random.ts';
import { type HostileKind, hostileKinds, noRows, oddKeys } from './hostile-values.ts';

export type StoredRow = Record<string, string | null>;

export type HostileHistory = {
  /** JSON texts of the rows, newest first. */
  lists: Record<'deposit' | 'withdraw', string[]>;
  /** Expected row of the ledger for each orderNo. */
  stored: Map<string, StoredRow>;
  /** Expected entries of `rejects`: `orderNo|field|mark of the row`. */
  rejected: Set<string>;
  hostile: number;
};

type Row = { text: string; orderNo: string | null; stored: StoredRow; rejected: string[] };

const hostileShare = 0.3;
/** Differing twins are on the same page: their order alone decides which one counts. */
const pageRows = 100;

/**
 * A history of `count` rows of which three in ten are bad, of every kind, on both lists; the same for the same seed.
 * Some rows are followed by a twin with the same key (P11). A row that its twin contradicts is a reject.
 */
export function hostileHistory(count: number, seed: number, now: number): HostileHistory {
  const random = seededRandom(seed).next;
  const history: HostileHistory = {
    lists: { deposit: [], withdraw: [] },
    stored: new Map(),
    rejected: new Set(),
    hostile: 0,
  };
  for (let nth = 0; nth < count; nth += 1) {
    const type = random() < 0.5 ? 'deposit' : 'withdraw';
    const list = history.lists[type];
    const isHostile = random() < hostileShare;
    const row = isHostile ? hostileRow(nth, type, now, random) : goodRow(nth, type, now);
    history.hostile += Number(isHostile);
    note(history, list, row);
    const twin = isHostile ? 1 : random();
    if (twin < 0.02) note(history, list, row);
    else if (twin < 0.04 && list.length % pageRows > 0) {
      const other = goodRow(nth, type, now, { fields: {}, stored: { amount: '77.70' } });
      note(history, list, { ...other, rejected: [`${row.orderNo}||tx-${nth}`] });
    }
  }
  return history;
}

function note(history: HostileHistory, list: string[], row: Row): void {
  list.push(row.text);
  if (row.orderNo !== null) history.stored.set(row.orderNo, row.stored);
  for (const reject of row.rejected) history.rejected.add(reject);
}

function hostileRow(nth: number, type: string, now: number, random: () => number): Row {
  const draw = Math.floor(random() * (hostileKinds.length + oddKeys.length + noRows.length));
  const kind = hostileKinds[draw];
  if (kind) return goodRow(nth, type, now, kind);
  const key = oddKeys[draw - hostileKinds.length];
  if (key) return goodRow(nth, type, now, { fields: { orderNo: JSON.stringify(key(nth)) } });
  const text = noRows[draw - hostileKinds.length - oddKeys.length]?.(nth) ?? 'null';
  return { text, orderNo: null, stored: {}, rejected: [`||${markOf(text)}`] };
}

/** A good row, except for the fields that its kind replaces. */
function goodRow(nth: number, type: string, now: number, kind: HostileKind = { fields: {} }): Row {
  const time = now - nth * 60_000;
  const given = kind.stored?.['amount'];
  const fields: Record<string, string | null> = {
    orderNo: `"order-${nth}"`,
    requestId: `"request-${nth}"`,
    symbol: '"ETH"',
    txHash: `"tx-${nth}"`,
    fromAddress: '"0xf"',
    toAddress: `"0xto${nth % 50}"`,
    amount: JSON.stringify(given ?? `${nth % 1_000}.50`),
    type: `"${type}"`,
    state: '"success"',
    time: String(time),
    ...kind.fields,
  };
  const names = Object.keys(fields).filter((name) => fields[name] !== null);
  const parts = names.map((name) => `${JSON.stringify(name)}:${fields[name]}`);
  const text = `{${parts.join(',')}}`.replace('"TYPE"', `"${type.toUpperCase()}"`);
  const isKeyless = kind.rejected?.includes('orderNo') ?? false;
  const orderNo = isKeyless ? null : (JSON.parse(fields['orderNo'] ?? 'null') as string);
  const stored: StoredRow = {
    order_no: orderNo,
    request_id: `request-${nth}`,
    symbol: 'ETH',
    tx_hash: `tx-${nth}`,
    to_address: `0xto${nth % 50}`,
    amount: `${nth % 1_000}.50`,
    type,
    state: 'success',
    occurred_ms: String(time),
    ...kind.stored,
    ...(kind.stored?.['type'] === 'TYPE' && { type: type.toUpperCase() }),
  };
  const rejected = (kind.rejected ?? []).map((field) => `${orderNo ?? ''}|${field}|tx-${nth}`);
  return { text, orderNo, stored, rejected };
}

/** Returns the part of a reject's payload that identifies its row. */
export function markOf(payload: string): string {
  return /tx-\d+/.exec(payload)?.[0] ?? payload;
}
