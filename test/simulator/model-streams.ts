import type { Handler } from './statement.ts';

type StreamRow = {
  listOrder: unknown;
  pageSize: unknown;
  serviceTotal: number | null;
  ledgerCount: number;
  isBacked: unknown;
  acceptedDifference: unknown;
  countAtLastPass: number;
  checkpoint: unknown;
  owner: string | null;
  until: number;
  walkedAt: number | null;
};

/** `ledger.streams`, and the statements of `src/ledger/stream-store.ts` on it. */
export function createModelStreams(now: () => number, isAlive: (owner: string) => boolean) {
  const rows = new Map<string, StreamRow>();
  const make = (name: unknown): StreamRow => {
    const known = rows.get(String(name));
    if (known) return known;
    const row: StreamRow = {
      listOrder: null,
      pageSize: null,
      serviceTotal: null,
      ledgerCount: 0,
      isBacked: false,
      acceptedDifference: 0,
      countAtLastPass: 0,
      checkpoint: null,
      owner: null,
      until: 0,
      walkedAt: null,
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
        Object.assign(row, { owner, until: now() + Number(leaseMs) });
        return [{ ...row, checkpoint: structuredClone(row.checkpoint) }];
      },
    ],
    [
      'now() - last_walk_at',
      ([name]) => {
        const { walkedAt } = make(name);
        return [{ ms: walkedAt === null ? null : now() - walkedAt }];
      },
    ],
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
    hasWalked,
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
    if (hasWalked) row.walkedAt = now();
    return [{ ledger_count: row.ledgerCount }];
  };
  // Asked first: its words hold those of the lease.
  statements.unshift(['set list_order = ', save]);
  return { make, statements };
}
