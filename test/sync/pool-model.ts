import {
  decidePool,
  numAfterGrant,
  numAfterLoss,
  type PoolFacts,
  type PoolLimits,
  refusalDelayMs,
  requestTransitions,
} from '../../src/sync/decide-pool.ts';

type Request = {
  id: number;
  num: number;
  state: 'sent' | 'done' | 'failed' | 'unknown';
  at: number;
  owner: number;
  received: number | null;
  listReadAt: number | null;
  answer: string[] | null;
};
type Kept = { generatedBy: number | null; isAvailable: boolean; firstSeenAt: number };

export type Outcome = 'clear' | 'refused' | 'lost' | 'never-arrived';

/** A service that generates addresses and lists them late, the ledger of one chain, and the processes at work on it. */
export class PoolModel {
  now = 0;
  /** Address → when it was generated. */
  generated = new Map<string, number>();
  ledger = new Map<string, Kept>();
  requests: Request[] = [];
  violations: string[] = [];
  outcomes: Outcome[] = [];
  readonly limits: PoolLimits;
  readonly listLagMs: number;
  #pool = {
    isFilling: false as boolean,
    refusals: 0,
    losses: 0,
    nextTryAt: 0,
    numMax: 200,
    filter: 'unknown' as PoolFacts['filter'],
  };
  #hasListedAny = false;
  #isListRead = false;
  #alive = new Set<number>();
  #owners = 0;

  constructor(limits: PoolLimits, listLagMs: number, existing: number) {
    this.limits = limits;
    this.listLagMs = listLagMs;
    for (let i = 0; i < existing; i += 1) this.generated.set(`old-${i}`, -1_000_000);
  }

  readonly threshold = 50;
  readonly target = 100;

  available(): number {
    return [...this.ledger.values()].filter((kept) => kept.isAvailable).length;
  }

  take(count: number): void {
    for (const kept of this.ledger.values()) {
      if (count <= 0) return;
      if (!kept.isAvailable) continue;
      kept.isAvailable = false;
      count -= 1;
    }
  }

  /** One process: every yield is a moment at which others may act, or at which it may die. */
  *process(): Generator<void, void, void> {
    const owner = ++this.#owners;
    this.#alive.add(owner);
    try {
      for (;;) {
        const done = { isListFresh: false, isFilterTried: false };
        for (let action = ''; !['blocked', 'full', 'busy'].includes(action); ) {
          yield;
          action = yield* this.#turn(owner, done);
          if (action === 'read-list') done.isListFresh = true;
          if (action === 'settle') done.isListFresh = false;
          if (action === 'prove-filter') done.isFilterTried = true;
          if (action === 'request') done.isFilterTried = false;
        }
      }
    } finally {
      this.#alive.delete(owner);
    }
  }

  *#turn(
    owner: number,
    done: { isListFresh: boolean; isFilterTried: boolean },
  ): Generator<void, string, void> {
    const action = decidePool({ ...this.#facts(), ...done }, this.limits);
    if (action.kind === 'request') {
      const request = this.#open(action.num, owner);
      yield;
      yield* this.#send(request);
    } else if (action.kind === 'lose') {
      this.#lose(action.id);
    } else if (action.kind === 'read-list') {
      yield* this.#readList();
      const lost = this.requests.find(
        (each) => each.id === action.lostId && each.state === 'unknown',
      );
      if (lost) lost.listReadAt ??= this.now;
    } else if (action.kind === 'resolve') {
      yield* this.#readList();
      yield;
      this.#resolve(action.id);
    } else if (action.kind === 'prove-filter') {
      this.now += 20;
      yield;
      // A chain that does not exist has an empty list: it shows something beside one that is not empty.
      if (this.#listed().length > 0) this.#pool.filter = 'works';
    } else {
      this.now += 500;
    }
    return action.kind;
  }

  #facts(): PoolFacts {
    const available = this.available();
    const isLow = available < this.threshold;
    this.#pool.isFilling = (this.#pool.isFilling || isLow) && available < this.target;
    const open = this.requests.find(
      (request) => request.state === 'sent' || request.state === 'unknown',
    );
    return {
      available,
      threshold: this.threshold,
      target: this.target,
      isFilling: this.#pool.isFilling,
      numMax: this.#pool.numMax,
      nextTryInMs: this.#pool.nextTryAt - this.now,
      generated24h: this.requests
        .filter((request) => request.state !== 'failed')
        .filter(
          ({ state, at }) => state === 'sent' || state === 'unknown' || at > this.now - 87_000_000,
        )
        .reduce((sum, { num, received }) => sum + Math.max(num, received ?? 0), 0),
      isStopped: false,
      isListRead: this.#isListRead,
      isListGone: false,
      isListFresh: false,
      losses: this.#pool.losses,
      isListEmpty: !this.#hasListedAny,
      filter: this.#pool.filter,
      isFilterTried: false,
      open: open
        ? {
            id: open.id,
            num: open.num,
            state: open.state as 'sent' | 'unknown',
            ageMs: this.now - open.at,
            isOwnerAlive: this.#alive.has(open.owner),
            hasAnswer: open.answer !== null,
            listReadAgeMs: open.listReadAt === null ? null : this.now - open.listReadAt,
          }
        : null,
    };
  }

  #turnInto(request: Request, state: Request['state']): void {
    const allowed: readonly string[] = requestTransitions[request.state];
    if (!allowed.includes(state)) this.violations.push(`${request.state} became ${state}`);
    request.state = state;
  }

  #open(num: number, owner: number): Request {
    if (this.requests.some(({ state }) => state === 'sent' || state === 'unknown'))
      this.violations.push('two open requests');
    const request: Request = {
      id: this.requests.length + 1,
      num,
      state: 'sent',
      at: this.now,
      owner,
      received: null,
      listReadAt: null,
      answer: null,
    };
    this.requests.push(request);
    return request;
  }

  *#send(request: Request): Generator<void, void, void> {
    if (this.now - request.at > 300_000) return this.#lose(request.id);
    if (request.state !== 'sent') this.violations.push('sent after it was given up');
    const outcome = this.outcomes.shift() ?? 'clear';
    const addresses: string[] = [];
    if (outcome === 'clear' || outcome === 'lost') {
      for (let i = 0; i < request.num; i += 1) addresses.push(`${request.id}-${i}`);
      for (const address of addresses) this.generated.set(address, this.now);
    }
    this.now += 50;
    yield;
    if (outcome === 'clear' && this.#pool.filter === 'works') this.#store(request, addresses);
    else if (outcome === 'clear') this.#hold(request, addresses);
    else if (outcome === 'refused') this.#fail(request);
    else this.#lose(request.id);
  }

  #hold(request: Request, addresses: string[]): void {
    if (request.state === 'sent') this.#turnInto(request, 'unknown');
    if (request.state === 'unknown') request.answer = addresses;
  }

  #store(request: Request, addresses: string[]): void {
    for (const address of addresses) {
      const kept = this.ledger.get(address);
      if (!kept)
        this.ledger.set(address, {
          generatedBy: request.id,
          isAvailable: true,
          firstSeenAt: this.now,
        });
      else if (kept.generatedBy === null)
        Object.assign(kept, { generatedBy: request.id, isAvailable: true });
    }
    Object.assign(this.#pool, { refusals: 0, losses: 0, nextTryAt: 0 });
    this.#pool.numMax = numAfterGrant(request.num, this.#pool.numMax, null);
    this.#turnInto(request, 'done');
    request.received = [...this.ledger.values()].filter(
      (kept) => kept.generatedBy === request.id,
    ).length;
  }

  #fail(request: Request): void {
    if (request.state !== 'sent') return;
    this.#turnInto(request, 'failed');
    this.#pool.refusals += 1;
    this.#pool.nextTryAt = this.now + refusalDelayMs(this.#pool.refusals);
    this.#pool.numMax = Math.max(1, Math.floor(request.num / 2));
  }

  #lose(id: number): void {
    const request = this.requests.find((each) => each.id === id);
    if (request?.state !== 'sent') return;
    this.#turnInto(request, 'unknown');
    this.#pool.losses += 1;
    this.#pool.numMax = Math.max(1, Math.min(this.#pool.numMax, numAfterLoss(request.num)));
  }

  #listed(): string[] {
    return [...this.generated]
      .filter(([, at]) => at + this.listLagMs <= this.now)
      .map(([address]) => address);
  }

  *#readList(): Generator<void, void, void> {
    const listed = this.#listed();
    this.now += 20;
    yield;
    this.now += 1;
    this.#hasListedAny ||= listed.length > 0;
    for (const address of listed) {
      if (!this.ledger.has(address))
        this.ledger.set(address, { generatedBy: null, isAvailable: false, firstSeenAt: this.now });
    }
    this.#isListRead = true;
  }

  #resolve(id: number): void {
    const request = this.requests.find((each) => each.id === id && each.state === 'unknown');
    if (!request) return;
    if (request.answer) {
      this.#store(request, request.answer);
      return;
    }
    const found = [...this.ledger.values()].filter(
      (kept) => kept.generatedBy === null && kept.firstSeenAt > request.at,
    );
    const isOurs = found.length === request.num;
    if (isOurs)
      for (const kept of found) Object.assign(kept, { generatedBy: id, isAvailable: true });
    this.#turnInto(request, 'done');
    request.received = isOurs ? found.length : 0;
  }
}
