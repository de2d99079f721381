/**
 * The rows of one chain's pool, and what the statements of `src/ledger/address-request-store.ts`,
 * `address-answer-store.ts`, `pool-row-store.ts` and `address-store.ts` do to them. Every statement is one step: as under the pool's lock.
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
  answer: string[] | null;
};
type Address = {
  generatedBy: number | null;
  status: string;
  firstSeenAt: number;
  isListed: boolean;
};

export type ModelPool = ReturnType<typeof createModelPool>;

export function createModelPool(
  sim: Simulation,
  pool: { threshold: number; target: number },
  isAlive: (owner: string) => boolean,
) {
  const addresses = new Map<string, Address>();
  const requests: AddressRequest[] = [];
  const state = {
    isFilling: false as boolean,
    numMax: 200,
    refusals: 0,
    losses: 0,
    nextTryAt: 0,
    filter: 'unknown' as unknown,
  };
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
    for (const { state: at, received, num, at: asked } of requests) {
      const isOpen = at === 'sent' || at === 'unknown';
      if (at !== 'failed' && (isOpen || asked > sim.now() - 87_000_000))
        sum += Math.max(num, received ?? 0);
    }
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
        isStopped: false,
        isListRead: isBacked,
        isListGone: serviceTotal === 0 && countAtLastPass > 0,
        isListEmpty: ![...addresses.values()].some(({ isListed }) => isListed),
        open: request
          ? {
              id: request.id,
              num: request.num,
              hasAnswer: request.answer !== null,
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
      answer: null,
    });
    return [{ id }];
  };

  const resolve: Handler = ([id]) => {
    const request = byId(id);
    if (request?.state !== 'unknown') return [];
    const found = [...addresses].filter(
      ([, kept]) => kept.generatedBy === null && kept.firstSeenAt > request.at,
    );
    const isOurs = found.length === request.num;
    if (isOurs) for (const [address] of found) adopt(address, request.id);
    Object.assign(request, { state: 'done', received: isOurs ? found.length : 0 });
    return isOurs ? found.map(([key]) => ({ key })) : [];
  };

  const nothing = () => [];
  const foreign = (): Address => ({
    generatedBy: null,
    status: 'foreign',
    firstSeenAt: sim.now(),
    isListed: false,
  });
  const givenBy = (params: unknown[]) => {
    const id = Number(params.find((each) => typeof each === 'number'));
    const listed = params.find(Array.isArray) as string[] | undefined;
    return { id, addresses: listed ?? byId(id)?.answer ?? [] };
  };
  const execute = createStatementTable([
    ...streams.statements,
    [
      'select i.address from unnest',
      ([listed]) =>
        (listed as string[])
          .filter((each) => !addresses.get(each)?.isListed)
          .map((address) => ({ address })),
    ],
    ['engine.current_epoch() as same', () => [{ same: true }]],
    ['select engine.', nothing],
    [
      'select i.key from ledger.addresses',
      () =>
        [...addresses.keys()]
          .filter((key) => !streams.isNoted('addresses:60', key))
          .map((key) => ({ key })),
    ],
    ["in ('sent', 'unknown') order by slip44", nothing],
    // The model's addresses have a form of their own, which none contradicts.
    ['where form is null and refused is null', nothing],
    ["form in ('proven', 'plain')", () => [{ seen: false }]],
    ["form = 'misfit'", nothing],
    ['set form = l.form', nothing],
    ['select slip44, answer from', ([id]) => [{ slip44: 60, answer: byId(id)?.answer ?? null }]],
    ['select a.address_key as key from', nothing],
    [
      'listed_as, status, first_seen_at, form',
      (params) => {
        const listed = params.find(Array.isArray) as string[];
        const keys = listed.filter((each) => insert(each, foreign()));
        for (const each of listed) Object.assign(addresses.get(each) ?? {}, { isListed: true });
        return [{ inserted: keys.length, keys, refused: [] }];
      },
    ],
    ['as proven from', () => [{ proven: state.filter === 'works' }]],
    [
      'set chain_filter',
      ([filter]) => {
        state.filter = filter;
        return [];
      },
    ],
    [
      'select exists (select from unnest',
      (params) => [
        {
          any: (params.find(Array.isArray) as string[]).some(
            (each) => addresses.get(each)?.isListed,
          ),
        },
      ],
    ],
    [
      "set state = 'unknown', answer",
      ([answer, id]) => {
        const request = byId(id);
        if (request?.state === 'sent' || request?.state === 'unknown')
          Object.assign(request, { state: 'unknown', answer });
        return [];
      },
    ],
    [
      'as "hasAnswer" from',
      ([id]) => {
        const request = byId(id);
        if (request?.state !== 'unknown') return [];
        return [{ slip44: 60, hasAnswer: request.answer !== null }];
      },
    ],
    ['select 1 from ledger.pools', nothing],
    ['(select slip44 from ledger.address_requests', nothing],
    ['as available from ledger.addresses', lockPool],
    ['insert into ledger.address_requests', openRequest],
    [
      "set state = 'unknown', lost_at",
      ([, id, numMax]) => {
        const request = byId(id);
        if (request?.state !== 'sent') return [];
        request.state = 'unknown';
        state.losses += 1;
        state.numMax = Math.min(state.numMax, Number(numMax));
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
        state.numMax = Math.min(state.numMax, Number(numMax));
        return [];
      },
    ],
    [
      'address, status, first_seen_at, form',
      (params) =>
        givenBy(params)
          .addresses.filter((each) => insert(each, foreign()))
          .map((key) => ({ key })),
    ],
    [
      'set generated_by = o.id, status',
      (params) => {
        const given = givenBy(params);
        const asked = byId(given.id);
        const ours = given.addresses.filter((each) => {
          const kept = addresses.get(each);
          return kept?.generatedBy === null && kept.firstSeenAt >= (asked?.at ?? 0);
        });
        if (ours.length <= (asked?.num ?? 0)) for (const each of ours) adopt(each, given.id);
        return [];
      },
    ],
    [
      'set refusals = 0',
      () => {
        Object.assign(state, { refusals: 0, losses: 0, nextTryAt: 0 });
        return [];
      },
    ],
    ['as "refusedAfterGrant"', () => [{ numMax: state.numMax, refusedAfterGrant: null }]],
    [
      'update ledger.pools set num_max',
      ([numMax]) => {
        state.numMax = Number(numMax);
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
        Object.assign(request, { state: 'done', received, answer: null });
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
