import { numAfterGrant } from '../../src/kernel/address-number.ts';
import { isAnswerEnough } from '../../src/kernel/chain-filter.ts';
import type { Answer } from '../../src/ledger/addresses/address-answer-store.ts';
import { describeShortfall } from '../../src/ledger/addresses/describe-shortfall.ts';
import type { PoolRow, PoolWrite } from '../../src/ledger/addresses/pool-requests.ts';
import { requestTransitions } from '../../src/sync/pools/decide-pool.ts';
import type { PoolPort } from '../../src/sync/pools/pool-port.ts';

type State = keyof typeof requestTransitions;
type AddressRequest = {
  id: number;
  slip44: number;
  num: number;
  state: State;
  owner: string;
  at: number;
  received: number | null;
  generated: number | null;
  lostAt: number | null;
  listReadAt: number | null;
  answer: string[] | null;
  /** Difference between the requested and the received addresses. */
  error: string | null;
};
type Address = {
  generatedBy: number | null;
  status: 'available' | 'assigned' | 'foreign';
  firstSeenAt: number;
  isListed: boolean;
};
type Chain = ReturnType<typeof newChain>;

/** The methods of the port that are one transaction each; reading a list takes several. */
export type PoolTransactions = Omit<PoolPort, 'readList' | 'end'>;

/** The calling process as the database sees it: its current name, and its name once it must show one. */
export type ServiceTransport = { held(): string | null; hold(): string };

const dayMs = 86_400_000;
const isFewer = ({ state, lostAt, num, generated }: AddressRequest) =>
  state === 'done' && lostAt === null && isBelow(generated ?? 0, num);
const isBelow = (came: number, num: number) => came > 0 && came < num;
const isOver = ({ num, generated }: AddressRequest) => (generated ?? 0) > num;
const isRefused = (each: AddressRequest) => each.state === 'failed' || isFewer(each);
const missingOf = (each: AddressRequest) => (isFewer(each) ? each.num - (each.generated ?? 0) : 0);
const countedOf = (each: AddressRequest) =>
  Math.max(each.num, each.received ?? 0, each.generated ?? 0) - missingOf(each);
const sumOf = (numbers: number[]) => numbers.reduce((sum, each) => sum + each, 0);
const isOpen = ({ state }: AddressRequest) => state === 'sent' || state === 'unknown';

/**
 * The pools in memory, by the rules of `src/ledger`; `test/sync/pool-port.test.ts` compares the two. Left out:
 * spellings, forms and deposits of addresses, and moves of the database, except the fact of a move.
 */
export class MemoryPools {
  readonly requests: AddressRequest[] = [];
  /** The database has moved, and no list was read since except the backed ones. */
  hasMoved = false as boolean;
  readonly #chains = new Map<number, Chain>();
  readonly #now: () => number;
  readonly #isAlive: (owner: string) => boolean;

  constructor(now: () => number, isAlive: (owner: string) => boolean) {
    this.#now = now;
    this.#isAlive = isAlive;
  }

  addPool(slip44: number, threshold: number, target: number): void {
    this.#chains.set(slip44, newChain(threshold, target));
  }

  chain(slip44: number): Chain {
    const chain = this.#chains.get(slip44);
    if (!chain) throw new Error(`there is no pool for the chain ${slip44}`);
    return chain;
  }

  open(slip44: number): AddressRequest | undefined {
    return this.requests.find((each) => each.slip44 === slip44 && isOpen(each));
  }

  /**
   * Hands out up to this number of addresses and returns how many. The next one is the oldest after the last one
   * handed out. A handed out address belongs to nobody else on any chain, and no other program generated it on another
   * chain. The pools in memory know no age of a list, so no chain shows the accounts of another one.
   */
  assign(slip44: number, wanted: number): number {
    const chain = this.chain(slip44);
    const passedOver = new Set<Address>();
    let count = 0;
    while (count < wanted) {
      const next = nextAvailable(chain, passedOver);
      if (!next) return count;
      const [address, kept] = next;
      const strangers = this.#strangers(slip44, address, kept);
      if (strangers.length > 0) {
        passedOver.add(kept);
        if (strangers.some((other) => this.#areApart(slip44, other))) this.#setSharedAside();
        continue;
      }
      const others = this.#others(slip44, address);
      kept.status = 'assigned';
      chain.lastTaken = address;
      if (others.some(({ status }) => status === 'assigned')) continue;
      for (const other of others) if (other.status === 'available') other.status = 'assigned';
      count += 1;
    }
    return count;
  }

  /** Returns the chains that list the address, which was generated on this chain and not on those. */
  #strangers(slip44: number, address: string, { generatedBy }: Address): number[] {
    if (generatedBy === null) return [];
    return [...this.#chains].flatMap(([chain, { addresses }]) => {
      const other = addresses.get(address);
      const isStranger = other?.generatedBy === null && ['foreign', 'used'].includes(other.status);
      return chain !== slip44 && isStranger ? [chain] : [];
    });
  }

  /** Returns true if an address was generated on both chains. */
  #areApart(slip44: number, other: number): boolean {
    const { addresses } = this.chain(other);
    return [...this.chain(slip44).addresses].some(
      ([address, { generatedBy, status }]) =>
        generatedBy !== null &&
        ['available', 'assigned'].includes(status) &&
        typeof addresses.get(address)?.generatedBy === 'number',
    );
  }

  #setSharedAside(): void {
    const shared = [...this.#chains].flatMap(([slip44, { addresses }]) =>
      [...addresses]
        .filter(([, { status }]) => status === 'available')
        .filter(([address, kept]) =>
          this.#strangers(slip44, address, kept).some((other) => this.#areApart(slip44, other)),
        ),
    );
    for (const [, kept] of shared) Object.assign(kept, { status: 'foreign', generatedBy: null });
  }

  available(slip44: number): number {
    let available = 0;
    for (const { status } of this.chain(slip44).addresses.values())
      available += Number(status === 'available');
    return available;
  }

  /** Stores the addresses from a reading of the list; returns how many are new. */
  storeListed(slip44: number, listed: string[]): number {
    const { addresses } = this.chain(slip44);
    const inserted = this.#insertForeign(slip44, listed);
    for (const address of listed) Object.assign(addresses.get(address) ?? {}, { isListed: true });
    return inserted;
  }

  generated24h(slip44: number): number {
    // A request may still be executed some minutes after it was stored.
    const since = this.#now() - dayMs - 600_000;
    const counted = this.requests.filter(
      (each) =>
        each.slip44 === slip44 && each.state !== 'failed' && (isOpen(each) || each.at > since),
    );
    const first = counted.find(isFewer);
    const shown = first
      ? this.#unclaimed(slip44, ([, { firstSeenAt }]) => firstSeenAt >= first.at).length
      : 0;
    return sumOf(counted.map(countedOf)) + Math.min(shown, sumOf(counted.map(missingOf)));
  }

  facts(slip44: number, self: string | null): PoolRow {
    const { pool, list, addresses } = this.chain(slip44);
    const available = this.available(slip44);
    pool.isFilling = (pool.isFilling || available < pool.threshold) && available < pool.target;
    const { nextTryAt, filter, lastError, ...numbers } = pool;
    const isOld = filter.value !== 'broken' && filter.at < this.#now() - dayMs;
    return {
      ...numbers,
      available,
      nextTryInMs: nextTryAt === null ? 0 : nextTryAt - this.#now(),
      generated24h: this.generated24h(slip44),
      isStopped: false,
      isExcess: nextTryAt !== null && this.#isLastExcess(slip44),
      isListRead: list.isBacked,
      isListGone: list.serviceTotal === 0 && list.countAtLastPass > 0,
      isListEmpty: ![...addresses.values()].some(({ isListed }) => isListed),
      filter: isOld ? 'unknown' : filter.value,
      siblings: {
        unread:
          this.hasMoved && pool.isFilling ? this.#unread().filter((each) => each !== slip44) : [],
        old: [],
      },
      open: this.#openFacts(slip44, self),
    };
  }

  /** The transactions of the port for one caller. `run` runs a transaction at a time of its choice. */
  transactions(caller: ServiceTransport, run: <T>(work: () => T) => Promise<T>): PoolTransactions {
    return {
      chainsInDoubt: () =>
        run(() =>
          this.requests
            .filter(isOpen)
            .map(({ slip44 }) => slip44)
            .sort((a, b) => a - b),
        ),
      plan: (slip44, decide) =>
        run(() => {
          if (!this.#chains.has(slip44)) return undefined;
          const decision = decide(this.facts(slip44, caller.held()));
          return { decision, openedId: this.#writeDown(slip44, decision.write, caller) };
        }),
      storeAnswer: (answer) => run(() => this.#storeAnswer(answer)),
      dropAnswer: (id, { refusals, delayMs }) =>
        run(() => {
          const request = this.requests[id - 1];
          if (request?.state !== 'unknown' || request.answer === null) return;
          turn(request, 'done');
          request.received = 0;
          const { pool } = this.chain(request.slip44);
          Object.assign(pool, { refusals, nextTryAt: this.#now() + delayMs });
        }),
      markRequestUnknown: (id, loss) => run(() => this.#lose(id, loss.numMax)),
      failRequest: (id, { error, refusals, delayMs, numMax }) =>
        run(() => {
          const request = this.#become(id, 'failed');
          if (!request) return;
          request.received = 0;
          const { pool } = this.chain(request.slip44);
          pool.refusals = refusals;
          pool.nextTryAt = this.#now() + delayMs;
          pool.numMax = Math.min(pool.numMax, numMax);
          pool.lastError = error;
        }),
      noteListRead: (id) =>
        run(() => {
          const request = this.requests[id - 1];
          if (request?.state === 'unknown') request.listReadAt ??= this.#now();
        }),
      resolveRequest: (id, ifNoneJoins) => run(() => this.#resolve(id, ifNoneJoins)),
      forceFilling: (slip44) =>
        run(
          () => void Object.assign(this.chain(slip44).pool, { isFilling: true, nextTryAt: null }),
        ),
      noteError: (slip44, lastError) =>
        run(() => void Object.assign(this.chain(slip44).pool, { lastError })),
      noteChainFilter: (slip44, value) =>
        run(() => {
          this.chain(slip44).pool.filter = { value, at: this.#now() };
        }),
      isAnyListed: (slip44, addresses) =>
        run(() => addresses.some((each) => this.chain(slip44).addresses.get(each)?.isListed)),
    };
  }

  /** Returns true if the last answer contained too many addresses, none of them usable. */
  #isLastExcess(slip44: number): boolean {
    const last = this.requests.filter((each) => each.slip44 === slip44).at(-1);
    return last?.state === 'done' && last.lostAt === null && last.received === 0 && isOver(last);
  }

  /** Chains whose lists were not read to their end; each may share addresses with each other. */
  #unread(): number[] {
    return [...this.#chains].flatMap(([slip44, { list }]) => (list.isBacked ? [] : [slip44]));
  }

  #openFacts(slip44: number, self: string | null): PoolRow['open'] {
    const request = this.open(slip44);
    if (!request) return null;
    const { id, num, owner, at, answer, listReadAt } = request;
    return {
      id,
      num,
      state: request.state === 'sent' ? 'sent' : 'unknown',
      ageMs: this.#now() - at,
      isOwnerAlive: owner !== self && this.#isAlive(owner),
      hasAnswer: answer !== null,
      isUnshown: this.#unshown(slip44, answer ?? []).length > 0,
      listReadAgeMs: listReadAt === null ? null : this.#now() - listReadAt,
    };
  }

  #writeDown(slip44: number, write: PoolWrite | null, caller: ServiceTransport): number | null {
    if (write?.kind === 'open') return this.#open(slip44, write.num, caller.hold());
    if (write?.kind === 'lose') this.#lose(write.id, write.numMax);
    if (write?.kind === 'error') this.chain(slip44).pool.lastError = write.error;
    return null;
  }

  #open(slip44: number, num: number, owner: string): number {
    if (this.open(slip44)) throw new Error('two open requests for one chain');
    const id = this.requests.length + 1;
    const nothing = {
      received: null,
      generated: null,
      lostAt: null,
      listReadAt: null,
      answer: null,
      error: null,
    };
    this.requests.push({ id, slip44, num, owner, state: 'sent', at: this.#now(), ...nothing });
    return id;
  }

  /** The request in its new state; undefined when it is no longer `sent`. */
  #become(id: number, state: 'failed' | 'unknown'): AddressRequest | undefined {
    const request = this.requests[id - 1];
    if (request?.state !== 'sent') return undefined;
    turn(request, state);
    return request;
  }

  #lose(id: number, numMax: number): void {
    const request = this.#become(id, 'unknown');
    if (!request) return;
    request.lostAt = this.#now();
    const { pool } = this.chain(request.slip44);
    pool.losses += 1;
    pool.numMax = Math.min(pool.numMax, numMax);
  }

  #insertForeign(slip44: number, shown: string[]): number {
    const { addresses } = this.chain(slip44);
    const news = [...new Set(shown)].filter((each) => !addresses.has(each));
    const facts = { generatedBy: null, status: 'foreign', isListed: false } as const;
    for (const each of news) addresses.set(each, { ...facts, firstSeenAt: this.#now() });
    return news.length;
  }

  #storeAnswer(answer: Answer) {
    const { id, slip44, num, addresses, rejects, ifNoneJoins } = answer;
    const { pool } = this.chain(slip44);
    const isElsewhere = addresses.some((each) => this.#others(slip44, each).length > 0);
    if (isElsewhere || (addresses.length > 0 && !isAnswerEnough(pool.filter.value))) {
      const request = this.requests[id - 1];
      if (!request || !isOpen(request)) return null;
      if (request.state === 'sent') turn(request, 'unknown');
      request.answer = addresses;
      request.generated = new Set(addresses).size + rejects.length;
      return null;
    }
    const joined = this.#storeGenerated(id, addresses, rejects.length);
    const request = this.requests[id - 1];
    const lastError = request?.error ?? null;
    if (joined > 0) pool.numMax = this.#numAfter(slip44, num, request);
    else {
      const { refusals, delayMs } = ifNoneJoins;
      Object.assign(pool, { refusals, nextTryAt: this.#now() + delayMs, lastError });
    }
    return joined;
  }

  /**
   * Ours are the addresses that were unknown before, except those of another chain; if there are too many, none is
   * ours.
   */
  #storeGenerated(id: number, given: string[], unreadable = 0, unshown = 0): number {
    const request = this.requests[id - 1];
    if (!request) return 0;
    const { slip44, num, at } = request;
    this.#insertForeign(slip44, given);
    const ours = this.#unclaimed(slip44, ([address, { firstSeenAt }]) => {
      const isKnown = this.#others(slip44, address).some(
        (other) => other.firstSeenAt <= at && other.generatedBy === null,
      );
      return firstSeenAt >= at && given.includes(address) && !isKnown;
    });
    const isOurs = ours.length <= num;
    if (isOurs) adopt(ours, id);
    const { addresses, pool } = this.chain(slip44);
    const keys = isOurs ? ours.map(([address]) => address) : [];
    const came = { came: new Set(given).size, fresh: ours.length, keys };
    const received = [...addresses.values()].filter((each) => each.generatedBy === id).length;
    Object.assign(pool, { refusals: 0, losses: 0, nextTryAt: null, lastError: null });
    turn(request, 'done');
    const error = received === num ? null : describeShortfall(num, came, unshown);
    const generated = Math.max(request.generated ?? 0, ours.length + unreadable);
    Object.assign(request, { received, generated, answer: null, error });
    if (received === 0 && isOver(request)) pool.nextTryAt = this.#now();
    if (isBelow(generated, num)) pool.numMax = Math.min(pool.numMax, generated);
    return received;
  }

  #resolve(id: number, { refusals, delayMs }: Answer['ifNoneJoins']): number {
    const request = this.requests[id - 1];
    if (request?.state !== 'unknown') return 0;
    const { slip44, answer } = request;
    if (!answer) return this.#closeByList(request);
    const joined = this.#resolveAnswer(request, answer);
    const { pool } = this.chain(slip44);
    if (joined === 0)
      Object.assign(pool, { refusals, nextTryAt: this.#now() + delayMs, lastError: request.error });
    return joined;
  }

  #resolveAnswer(request: AddressRequest, answer: string[]): number {
    const unshown = this.#unshown(request.slip44, answer);
    if (unshown.length === 0) return this.#storeGenerated(request.id, answer);
    const joined = this.#closeByList(request);
    const shown = answer.filter((each) => !unshown.includes(each));
    return joined > 0 || shown.length === 0
      ? joined
      : this.#storeGenerated(request.id, shown, 0, unshown.length);
  }

  /** Addresses of an answer that the list does not show; none if no other chain has any address of the answer. */
  #unshown(slip44: number, answer: string[]): string[] {
    if (!answer.some((each) => this.#others(slip44, each).length > 0)) return [];
    return answer.filter((each) => !this.chain(slip44).addresses.get(each)?.isListed);
  }

  #closeByList(request: AddressRequest): number {
    const { id, slip44, num, at } = request;
    const found = this.#unclaimed(slip44, ([, { firstSeenAt }]) => firstSeenAt > at);
    const isElsewhere = found.some(([address]) => this.#others(slip44, address).length > 0);
    const isShared = this.chain(slip44).pool.filter.value === 'shared';
    const isOurs = found.length === num && !isElsewhere && !isShared;
    if (isOurs) adopt(found, id);
    turn(request, 'done');
    request.received = isOurs ? found.length : 0;
    request.generated = found.length;
    if (request.answer === null) return request.received;
    const unproven =
      isOurs || found.length === 0 ? '' : ', without proof that they are ours: they stay foreign';
    request.error = `the answer named addresses of other chains that the list of this one does not show; the list shows ${found.length} new addresses of ${num}${unproven}`;
    return request.received;
  }

  #unclaimed(slip44: number, is: (entry: [string, Address]) => boolean): [string, Address][] {
    const { addresses } = this.chain(slip44);
    return [...addresses].filter((entry) => entry[1].generatedBy === null && is(entry));
  }

  /** The address as other chains know it. */
  #others(slip44: number, address: string): Address[] {
    return [...this.#chains].flatMap(([chain, { addresses }]) => {
      const kept = addresses.get(address);
      return chain === slip44 || !kept ? [] : [kept];
    });
  }

  /** The upper bound of the number after an answer: up to twice as much, unless fewer arrived. */
  #numAfter(slip44: number, num: number, request: AddressRequest | undefined): number {
    const { numMax } = this.chain(slip44).pool;
    if (request && request.generated !== null && isBelow(request.generated, num)) return numMax;
    const missing = sumOf(this.#askedToday(slip44).map(missingOf));
    return numAfterGrant(num, numMax, this.#refusedAfterGrant(slip44), missing);
  }

  #askedToday(slip44: number): AddressRequest[] {
    return this.requests.filter((each) => each.slip44 === slip44 && each.at > this.#now() - dayMs);
  }

  /**
   * The smallest number that was not granted today right after a smaller one was; a lost answer counts from the second
   * on, one with fewer addresses for a minute, and longer if there were several.
   */
  #refusedAfterGrant(slip44: number): number | null {
    const { numMax } = this.chain(slip44).pool;
    const asked = this.#askedToday(slip44);
    const isGranted = ({ state, lostAt, received, num }: AddressRequest) =>
      state === 'done' && lostAt === null && received === num;
    const doubted = asked.filter((each, index) => {
      const before = asked[index - 1];
      const isWanting = isRefused(each) || each.lostAt !== null;
      return isWanting && before && isGranted(before) && before.num < each.num && each.num > numMax;
    });
    const shorts = doubted.filter(isFewer).length;
    const shortMs = Math.min(60, 2 ** (shorts - 1)) * 60_000;
    const isLimit = (each: AddressRequest) =>
      each.state === 'failed' ||
      (isFewer(each) && each.at > this.#now() - shortMs) ||
      doubted.some(
        ({ id, num, lostAt }) =>
          each.lostAt !== null &&
          lostAt !== null &&
          id < each.id &&
          num <= each.num &&
          !asked.some((later) => isGranted(later) && later.num >= num && later.id > id),
      );
    const limits = doubted.filter(isLimit).map(({ num }) => num);
    return limits.length > 0 ? Math.min(...limits) : null;
  }
}

function newChain(threshold: number, target: number) {
  return {
    pool: {
      threshold,
      target,
      isFilling: false as boolean,
      numMax: 200,
      refusals: 0,
      losses: 0,
      nextTryAt: null as number | null,
      filter: { value: 'unknown' as PoolRow['filter'], at: 0 },
      lastError: null as string | null,
    },
    addresses: new Map<string, Address>(),
    lastTaken: null as string | null,
    /** The list at its last reading. */
    list: { isBacked: false as boolean, serviceTotal: null as number | null, countAtLastPass: 0 },
  };
}

function nextAvailable(
  { addresses, lastTaken }: Chain,
  passedOver: ReadonlySet<Address>,
): [string, Address] | undefined {
  const placeOf = ([address, { firstSeenAt }]: [string, Address]) =>
    `${String(firstSeenAt).padStart(20, '0')} ${address}`;
  const available = [...addresses]
    .filter(([, kept]) => kept.status === 'available' && !passedOver.has(kept))
    .sort((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1));
  const last = lastTaken === null ? undefined : addresses.get(lastTaken);
  const after = last && lastTaken !== null ? placeOf([lastTaken, last]) : '';
  return available.find((entry) => placeOf(entry) > after) ?? available[0];
}

function turn(request: AddressRequest, state: State): void {
  const allowed: readonly State[] = requestTransitions[request.state];
  if (!allowed.includes(state)) throw new Error(`${request.state} became ${state}`);
  request.state = state;
}

function adopt(entries: [string, Address][], id: number): void {
  for (const [, kept] of entries) {
    kept.generatedBy = id;
    if (kept.status === 'foreign') kept.status = 'available';
  }
}
