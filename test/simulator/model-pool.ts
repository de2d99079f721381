/**
 * The rows of one chain's pool, and what the statements of `src/ledger/address-request-store.ts` and
 * `src/ledger/address-store.ts` do to them. Every statement is one step: as under the pool's lock.
 */

import { createModelStreams } from './model-streams.ts';
import type { Simulation } from './simulation.ts';
import { createStatementTable, type Handler } from './statement.ts';

type State = 'sent' | 'unknown' | 'done' | 'failed';
type AddressRequest = {
  id: number;
  num: number;
  state: State;
  owner: string;
  at: number;
  received: number | null;
  listReadAt: number | null;
};
type Address = { generatedBy: number | null; status: string; firstSeenAt: number };

export type ModelPool = ReturnType<typeof createModelPool>;

export function createModelPool(
  sim: Simulation,
  pool: { threshold: number; target: number },
  isAlive: (owner: string) => boolean,
) {
  const addresses = new Map<string, Address>();
  const requests: AddressRequest[] = [];
  const state = { isFilling: false as boolean, numMax: 200, refusals: 0, nextTryAt: 0 };
  const streams = createModelStreams(sim.now, isAlive);
  const stream = () => streams.make('addresses:60');
  let undo: (() => void)[] = [];

  const open = () => requests.find((each) => each.state === 'sent' || each.state === 'unknown');
  const byId = (id: unknown) => requests[Number(id) - 1];
  // Asked after every step: kept, not counted.
  let available = 0;
  const insert = (address: string, kept: Address) => {
    if (addresses.has(address)) return false;
    addresses.set(address, kept);
    available += Number(kept.status === 'available');
    stream().ledgerCount += 1;
    undo.push(() => {
      addresses.delete(address);
      available -= Number(kept.status === 'available');
      stream().ledgerCount -= 1;
    });
    return true;
  };
  const generated24h = () => {
    let sum = 0;
    for (const { state: at, received, num, at: asked } of requests)
      if (at !== 'failed' && asked > sim.now() - 86_400_000) sum += received ?? num;
    return sum;
  };
  const adopt = (address: string, id: number) => {
    const kept = addresses.get(address);
    if (kept?.generatedBy !== null) return;
    kept.generatedBy = id;
    if (kept.status !== 'foreign') return;
    kept.status = 'available';
    available += 1;
  };

  const lockPool: Handler = () => {
    state.isFilling = (state.isFilling || available < pool.threshold) && available < pool.target;
    const request = open();
    const { serviceTotal, isBacked, countAtLastPass } = stream();
    const age = (since: number | null) => (since === null ? null : sim.now() - since);
    return [
      {
        ...pool,
        ...state,
        available,
        nextTryInMs: state.nextTryAt - sim.now(),
        generated24h: generated24h(),
        isListRead: isBacked,
        isListGone: serviceTotal === 0 && countAtLastPass > 0,
        open: request
          ? {
              id: request.id,
              state: request.state,
              ageMs: age(request.at),
              isOwnerAlive: isAlive(request.owner),
              listReadAgeMs: age(request.listReadAt),
            }
          : null,
      },
    ];
  };

  const openRequest: Handler = ([, num, owner]) => {
    if (open()) sim.violate('two open requests for one chain');
    const id = requests.length + 1;
    requests.push({
      id,
      num: Number(num),
      owner: String(owner),
      state: 'sent',
      at: sim.now(),
      received: null,
      listReadAt: null,
    });
    return [{ id }];
  };

  const resolve: Handler = ([id]) => {
    const request = byId(id);
    if (request?.state !== 'unknown') return [{ received: 0 }];
    const found = [...addresses].filter(
      ([, kept]) => kept.generatedBy === null && kept.firstSeenAt > request.at,
    );
    const isOurs = found.length <= request.num;
    if (isOurs) for (const [address] of found) adopt(address, request.id);
    Object.assign(request, { state: 'done', received: isOurs ? found.length : null });
    return [{ received: isOurs ? found.length : 0 }];
  };

  const nothing = () => [];
  const execute = createStatementTable([
    ...streams.statements,
    [
      'select distinct address from unnest',
      ([listed]) =>
        (listed as string[]).filter((each) => !addresses.has(each)).map((address) => ({ address })),
    ],
    ['lock table', nothing],
    [
      'first_deposit_order_no, first_seen_at)',
      (params) => {
        const listed = params.find(Array.isArray) as string[];
        const kept = { generatedBy: null, status: 'foreign', firstSeenAt: sim.now() };
        return [{ inserted: listed.filter((each) => insert(each, { ...kept })).length }];
      },
    ],
    ['select 1 from ledger.pools', nothing],
    ['(select slip44 from ledger.address_requests', nothing],
    ['as available from ledger.addresses', lockPool],
    ['insert into ledger.address_requests', openRequest],
    [
      "set state = 'unknown'",
      ([, id]) => {
        const request = byId(id);
        if (request?.state === 'sent') request.state = 'unknown';
        return [];
      },
    ],
    [
      "set state = 'failed'",
      ([, id, delayMs, numMax]) => {
        const request = byId(id);
        if (request?.state !== 'sent') return [];
        Object.assign(request, { state: 'failed', received: 0 });
        state.refusals += 1;
        state.nextTryAt = sim.now() + Number(delayMs);
        state.numMax = Number(numMax);
        return [];
      },
    ],
    [
      'generated_by, first_seen_at)',
      ([listed, id]) => {
        const kept = { generatedBy: Number(id), status: 'available', firstSeenAt: sim.now() };
        for (const each of listed as string[]) insert(each, { ...kept });
        return [];
      },
    ],
    [
      'set generated_by = r.id, status',
      (params) => {
        const id = Number(params.find((each) => typeof each === 'number'));
        for (const each of params.find(Array.isArray) as string[]) adopt(each, id);
        return [];
      },
    ],
    [
      'set refusals = 0',
      () => {
        if (state.refusals >= 3) state.numMax = 200;
        Object.assign(state, { refusals: 0, nextTryAt: 0 });
        return [];
      },
    ],
    [
      'received = n.received',
      ([id]) => {
        const request = byId(id);
        if (!request) return [];
        let received = 0;
        for (const kept of addresses.values()) received += Number(kept.generatedBy === request.id);
        Object.assign(request, { state: 'done', received });
        return [{ received }];
      },
    ],
    [
      'set list_read_at',
      ([id]) => {
        const request = byId(id);
        if (request?.state === 'unknown') request.listReadAt ??= sim.now();
        return [];
      },
    ],
    ['with request as', resolve],
    ['set last_error', nothing],
  ]);

  return {
    addresses,
    requests,
    execute,
    open,
    available: () => available,
    /** Hands out so many addresses, or as many as there are; returns how many. */
    assign(wanted: number): number {
      let left = wanted;
      for (const kept of addresses.values()) {
        if (left === 0) break;
        if (kept.status !== 'available') continue;
        kept.status = 'assigned';
        left -= 1;
      }
      available -= wanted - left;
      return wanted - left;
    },
    generated24h,
    facts: () => lockPool([]),
    /** All of the work or nothing of it; its statements may be undone as far as transactions of ours fail. */
    async atomically<T>(work: () => Promise<T>): Promise<T> {
      undo = [];
      try {
        return await work();
      } catch (error) {
        for (const back of undo.reverse()) back();
        throw error;
      }
    },
  };
}
