import type { Handler } from './statement.ts';

type StreamRow = {
  listOrder: unknown;
  pageSize: unknown;
  serviceTotal: number | null;
  ledgerCount: number;
  guests: number;
  passes: number;
  isBacked: unknown;
  acceptedDifference: unknown;
  countAtLastPass: number;
  checkpoint: unknown;
  owner: string | null;
  until: number;
};

/** `ledger.streams`, and the statements of `src/ledger/stream-store.ts` on it. */
export function createModelStreams(now: () => number, isAlive: (owner: string) => boolean) {
  const rows = new Map<string, StreamRow>();
  const notes = new Map<string, Set<string>>();
  const make = (name: unknown): StreamRow => {
    const known = rows.get(String(name));
    if (known) return known;
    const row: StreamRow = {
      listOrder: null,
      pageSize: null,
      serviceTotal: null,
      ledgerCount: 0,
      guests: 0,
      passes: 0,
      isBacked: false,
      acceptedDifference: 0,
      countAtLastPass: 0,
      checkpoint: null,
      owner: null,
      until: 0,
    };
    rows.set(String(name), row);
    return row;
  };
  const statements: [string, Handler][] = [
    [
      'insert into ledger.streams (name) select',
      ([name]) => {
        make(name);
        return [];
      },
    ],
    [
      'lease_until = now() + ? * interval',
      ([owner, leaseMs, name]) => {
        const row = make(name);
        if (row.owner !== null && row.until >= now() && isAlive(row.owner)) return [];
        Object.assign(row, { owner, until: now() + Number(leaseMs), passes: row.passes + 1 });
        return [{ ...row, checkpoint: structuredClone(row.checkpoint) }];
      },
    ],
    [
      'delete from ledger.scan_notes',
      ([name]) => {
        notes.delete(String(name));
        return [];
      },
    ],
    [
      'insert into ledger.scan_notes',
      ([name, keys]) => {
        const noted = notes.get(String(name)) ?? new Set();
        for (const key of keys as string[]) noted.add(key);
        notes.set(String(name), noted);
        return [];
      },
    ],
    [
      'as count from ledger.scan_notes',
      ([name]) => [{ count: notes.get(String(name))?.size ?? 0 }],
    ],
    ['update ledger.coverage', () => []],
    [
      'set lease_owner = null',
      (params) => {
        const row = make(params.at(-2));
        if (row.owner === params.at(-1)) row.owner = null;
        return [];
      },
    ],
  ];
  const save: Handler = ([
    listOrder,
    pageSize,
    serviceTotal,
    isBacked,
    acceptedDifference,
    ,
    ,
    checkpoint,
    leaseMs,
    name,
    owner,
  ]) => {
    const row = make(name);
    if (row.owner !== owner) return [];
    const read = JSON.parse(String(checkpoint));
    const countAtLastPass = row.ledgerCount;
    Object.assign(row, { listOrder, pageSize, serviceTotal, isBacked, acceptedDifference });
    Object.assign(row, { countAtLastPass, checkpoint: read });
    row.until = now() + Number(leaseMs);
    return [{ ledgerCount: row.ledgerCount, guests: 0 }];
  };
  // Asked first: its words hold those of the lease.
  statements.unshift(['set list_order = ', save]);
  const isNoted = (name: string, key: string) => notes.get(name)?.has(key) ?? false;
  return { make, statements, isNoted };
}
