import { LedgerError } from '../../src/kernel/errors.ts';
import type { ListOrder } from '../../src/kernel/vocabulary.ts';
import { newCheckpoint, parseCheckpoint } from '../../src/sync/list/list-checkpoint.ts';
import type {
  AfterFinding,
  Batch,
  ListPort,
  Ranks,
  ScanNotes,
  Stored,
} from '../../src/sync/list/list-port.ts';
import type { ListState, PageFacts } from '../../src/sync/list/list-state.ts';
import { dayOf } from '../../src/sync/list/read-days.ts';
import { afterTotalBeside } from '../../src/sync/list/reported-totals.ts';
import { type SeededRandom, scrambledRandom } from '../support/seeded-random.ts';
import { LedgerModel } from './ledger-model.ts';
import { type Lies, noLies, sightOf, spoil, toldTotal, withShownAgain } from './service-lies.ts';
import { type Row, ServiceList, type Version } from './service-list.ts';

/** Events between two requests, at the service or in the program. */
export type Happening =
  | { kind: 'arrive'; count: number }
  | { kind: 'late'; at: number }
  | { kind: 'resize'; size: number }
  | { kind: 'lag'; rows: number }
  | { kind: 'remove'; at: number }
  | { kind: 'bring-back' }
  /** This list also shows the row of another list, or shows it instead. */
  | { kind: 'share'; at: number }
  | { kind: 'move'; at: number }
  /** Rows arrive, and another process reads the first page and stores it after this number of further events. */
  | { kind: 'look'; count: number; storedAfter: number }
  | { kind: 'kill' }
  | { kind: 'nothing' };

/** A page as the model serves it. */
export type ShownPage = PageFacts;

/** An answer with the facts about it that only the model knows. */
export type Answer = {
  observation: number;
  /** Another process has read and stored it. */
  isLook: boolean;
  total: number | null;
  shown: Version;
  /** Keys of rows that belong on the page and are missing. */
  hidden: string[];
  /** Keys of all rows that belong on the page, and of those behind it if the answer claims to be the last one. */
  due: readonly string[];
  cutOff: readonly string[];
  /** The list in the order in which it was paged, and the number of its rows before the page. */
  listing: readonly Row[];
  rowsBefore: number;
};

/** Nothing is known about a refused page behind the end. */
const noPage = {
  size: 1,
  total: null,
  listed: 0,
  unstorable: 0,
  keys: [],
  times: [],
  datedKeys: [],
  firstTime: null,
  lastTime: null,
  fingerprint: '',
  isRefused: true,
};

export class Killed extends Error {}

/** State that the lists of one service share. */
export class World {
  /** Unix ms; requests, waits and passes advance it. */
  time = 1_700_000_000_000;
  /** Maximum duration of a request. */
  requestMs = 0;
  readonly luck: SeededRandom;
  readonly ledger = new LedgerModel();
  readonly lists: ListModel[] = [];
  /** Called after each write of a list, and before rows of it are marked as unlisted. */
  onWrite: ((list: ListModel) => void) | null = null;
  onUnlist: ((list: ListModel, keys: string[]) => void) | null = null;
  #serial = 0;

  constructor(seed = 1) {
    this.luck = scrambledRandom(seed);
  }

  nextSerial(): number {
    this.#serial += 1;
    return this.#serial;
  }

  passRequestTime(): void {
    if (this.requestMs > 0) this.time += 1 + this.luck.below(this.requestMs);
  }
}

/** Upper bound of the requests of one pass. */
const requestsMax = 5_000;

/** A list that changes while it is read, and its ledger. Time passes with each request. */
export class ListModel {
  readonly world: World;
  readonly list: ServiceList;
  readonly index: number;
  /** Rows that were marked as unlisted although the service lists them. */
  wronglyUnlisted: string[] = [];
  /** Days that were marked as verified, and the rows that the service listed for them at that time. */
  verified = new Map<number, string[]>();
  /** Keys that a scan has noted. */
  noted = new Set<string>();
  stored: ListState;
  requests = 0;
  size: number;
  lies: Lies = noLies;
  beyondEnd: 'empty' | 'last-page' | 'empty-and-zero' | 'refused' = 'empty';
  /** The page size that answers claim; null: the served one. */
  claimedSize: number | null = null;
  hasTimes = true;
  canUnlist = true;
  batchRows = 40;
  /** Share of the moments at which a long scan is asked to pause. */
  pauseShare = 0;
  aheadMax = 8;
  /** Answers in the order in which the reader took them; a kill removes those that no write has stored. */
  taken: Answer[] = [];
  /** Number of them that are covered by the stored state of the ledger. */
  remembered = 0;
  /** Refusals and pages of another size, each with the number of answers taken before. A refusal has no total. */
  glimpses: { taken: number; answer: Answer }[] = [];
  /** First pages that another process stored during a pass. */
  storedLooks = 0;
  #script: Happening[] = [];
  #observation = 0;
  #answers = new Map<number, Answer>();
  /** Requests that were refused: their page lies behind the end. */
  #refused = new Set<number>();
  #latestTaken: Answer | undefined;
  #answered = 0;
  #requestsOfPass = 0;
  /** First pages that another process has read and not yet stored. */
  #looks: { facts: ShownPage; storedAfter: number }[] = [];
  /** Observation of the total that the pass last found or stored. */
  #knownTotal = 0;

  constructor(
    order: ListOrder | 'shuffled',
    size: number,
    isOrderFixed = false,
    world: World = new World(),
  ) {
    this.world = world;
    this.list = new ServiceList(
      order,
      () => world.time,
      () => world.nextSerial(),
    );
    this.index = world.ledger.addList();
    world.lists.push(this);
    this.size = size;
    this.stored = {
      listOrder: isOrderFixed && order !== 'shuffled' ? order : null,
      isOrderFixed,
      pageSize: null,
      serviceTotal: null,
      ledgerCount: 0,
      guests: 0,
      conflicts: 0,
      passes: 0,
      isBacked: false,
      acceptedDifference: 0,
      totalObservation: 0,
      checkpoint: newCheckpoint(size),
    };
  }

  get rows(): readonly Row[] {
    return this.list.current.rows;
  }

  /** Listed rows in the ledger, with their times. */
  get ledger(): Map<string, number | null> {
    return this.world.ledger.listed(this.index);
  }

  get order(): ListOrder | 'shuffled' {
    return this.list.order;
  }

  set order(order: ListOrder | 'shuffled') {
    this.list.order = order;
  }

  get time(): number {
    return this.world.time;
  }

  set timeStep(step: number) {
    this.list.timeStep = step;
  }

  get stepMs(): number {
    return this.list.stepMs;
  }

  /** Number of rows by which the count of the service is too low. */
  set lag(rows: number) {
    this.lies = { ...this.lies, total: { kind: 'off', rows: -rows } };
  }

  arrive(count: number): string[] {
    return this.list.arrive(count);
  }

  late(at: number): string {
    return this.list.late(at);
  }

  remove(at: number): string | undefined {
    return this.list.remove(at)?.key;
  }

  script(happenings: Happening[]): void {
    this.#script = [...happenings];
  }

  /** The list according to the latest answer that was taken. */
  known(): string[] {
    return [...(this.#latestTaken?.shown.keys ?? [])];
  }

  happen(next: Happening | undefined): void {
    if (next?.kind === 'arrive') this.list.arrive(next.count);
    if (next?.kind === 'late') this.list.late(next.at);
    if (next?.kind === 'remove') this.list.remove(next.at);
    if (next?.kind === 'bring-back') this.list.bringBack();
    // A page size that is neither stated nor kept cannot be learned.
    if (next?.kind === 'resize' && this.claimedSize === null) this.size = next.size;
    if (next?.kind === 'lag') this.lag = next.rows;
    if (next?.kind === 'look') {
      this.list.arrive(next.count);
      this.#look(next.storedAfter);
    }
    this.#storeLooks();
    if (next?.kind === 'kill') throw new Killed();
    if (next?.kind !== 'share' && next?.kind !== 'move') return;
    const other = this.world.lists.find((list) => list !== this)?.list;
    const row = other?.pick(next.at);
    if (row) this.list.show(row);
    if (row && next.kind === 'move') other?.removeKey(row.key);
  }

  /** Like `lookBeside`: only the first page of a list that begins with its newest rows, all of them readable. */
  #look(storedAfter: number): void {
    const { listOrder, pageSize } = this.stored;
    if (pageSize === null || listOrder !== 'newest-first' || !this.hasTimes) return;
    this.#observation += 1;
    const usual = this.size;
    this.size = Math.min(usual, pageSize);
    const facts = this.answer(1, this.#observation);
    this.size = usual;
    if (facts.unstorable === 0 && facts.keys.length > 0) this.#looks.push({ facts, storedAfter });
  }

  #storeLooks(): void {
    const due = this.#looks.filter(({ storedAfter }) => storedAfter <= 0);
    this.#looks = this.#looks
      .filter((look) => !due.includes(look))
      .map(({ facts, storedAfter }) => ({ facts, storedAfter: storedAfter - 1 }));
    for (const { facts } of due) this.#storeLook(facts);
  }

  /** Stores the page and its total if its last row is known and the counts behind it are equal. */
  #storeLook({ keys, datedKeys, times, total, observation }: ShownPage): void {
    const { ledger } = this.world;
    const answer = this.#answers.get(observation);
    this.#answers.delete(observation);
    const last = keys.at(-1);
    if (!answer || last === undefined || !this.ledger.has(last)) return;
    const fresh = keys.filter(
      (key) => !this.ledger.has(key) && !ledger.guests(this.index).has(key),
    );
    if (fresh.length === 0) return;
    const { isBacked, acceptedDifference, serviceTotal } = this.stored;
    const { ledgerCount, guests } = this.#counts();
    const count = ledgerCount + guests + fresh.length + acceptedDifference;
    const isLater = total !== null && observation > this.stored.totalObservation;
    const isEven = isLater && total === count && total >= (serviceTotal ?? 0);
    if (total === null ? serviceTotal !== null : isBacked && !isEven) return;
    const timeOf = new Map(datedKeys.map((key, index) => [key, times[index] ?? null]));
    for (const key of keys) ledger.store(this.index, key, timeOf.get(key) ?? null);
    // A kill of the pass does not undo it.
    this.taken.splice(this.remembered, 0, { ...answer, isLook: true });
    this.remembered += 1;
    this.storedLooks += 1;
    this.stored = { ...this.stored, ...this.#counts() };
    if (isLater)
      this.stored = { ...this.stored, serviceTotal: total, totalObservation: observation };
    this.world.onWrite?.(this);
  }

  /** The page of the current list for the request with this number. */
  answer(page: number, observation: number): ShownPage {
    this.requests += 1;
    this.#requestsOfPass += 1;
    if (this.#requestsOfPass > requestsMax) throw new Error('the list is read without end');
    this.world.passRequestTime();
    const { luck, time } = this.world;
    const { shown, counted } = sightOf(this.list, this.lies, time, luck);
    const listing = withShownAgain(this.list.listing(shown, this.requests), this.lies);
    const pages = Math.max(1, Math.ceil(listing.length / this.size));
    if (page > pages && this.beyondEnd === 'refused') this.#refused.add(observation);
    const served = page > pages && this.beyondEnd === 'last-page' ? pages : page;
    const due = listing.slice((served - 1) * this.size, served * this.size);
    const { rows, unstorable, hidden } = spoil(due, this.lies, luck);
    const countedRows = counted.rows.length + (this.lies.shownAgain > 0 ? 1 : 0);
    const isZero = rows.length === 0 && page > 1 && this.beyondEnd === 'empty-and-zero';
    const total = isZero ? 0 : toldTotal(this.lies.total, countedRows, rows.length, luck);
    const size = this.claimedSize ?? this.size;
    const listed = rows.length + unstorable;
    const isLast = [size, this.size].some(
      (grid) => listed < grid && (page - 1) * grid + listed === total,
    );
    const behind = isLast ? listing.slice(served * this.size) : [];
    // Some services answer 0 behind the end, so a total of 0 there is no evidence from any service.
    const isSilent = rows.length + unstorable === 0 && page > 1 && total === 0;
    this.#answers.set(observation, {
      observation,
      isLook: false,
      total: isSilent ? null : total,
      shown,
      hidden,
      due: due.map((row) => row.key),
      cutOff: behind.map((row) => row.key),
      listing,
      rowsBefore: (served - 1) * this.size,
    });
    const dated = this.hasTimes ? rows.filter((row) => !row.isUndated) : [];
    const times = dated.map((row) => row.time);
    const keys = rows.map((row) => row.key);
    this.#answered += 1;
    return {
      page,
      size,
      total,
      listed,
      unstorable,
      keys,
      times,
      datedKeys: dated.map((row) => row.key),
      firstTime: times[0] ?? null,
      lastTime: times.at(-1) ?? null,
      fingerprint: `${keys.join()} ${hidden.slice(0, unstorable).join()}`,
      isFresh: true,
      observation,
      answered: this.#answered,
    };
  }

  #take(facts: ShownPage): ShownPage {
    const answer = this.#answers.get(facts.observation);
    this.#answers.delete(facts.observation);
    if (answer) this.taken.push(answer);
    this.#latestTaken = answer ?? this.#latestTaken;
    return facts;
  }

  #write(
    { pages, days }: Batch<ShownPage>,
    {
      state,
      afterFinding,
      remembered,
    }: { state: ListState; afterFinding: AfterFinding; remembered: () => number },
  ): Stored {
    const { ledger } = this.world;
    const next = this.#script[0]?.kind;
    if (next === 'kill' || next === 'look') this.happen(this.#script.shift());
    const before = this.ledger.size;
    for (const { keys, datedKeys, times } of pages) {
      const timeOf = new Map(datedKeys.map((key, index) => [key, times[index] ?? null]));
      for (const key of keys) {
        ledger.store(this.index, key, timeOf.get(key) ?? null);
        if (state.checkpoint.walk?.notesKeys) this.noted.add(key);
      }
    }
    const inserted = this.ledger.size - before;
    const compared = days === null ? null : ledger.compareDays(this.index, days);
    for (const [day, keys] of compared?.verified ?? []) this.verified.set(day, keys);
    this.remembered = remembered();
    const found = { inserted, differingDays: compared === null ? [] : compared.differing };
    return { ...this.#save(afterFinding(found)), ...found };
  }

  /** The state that the next pass reads from the database, 15 s after the previous pass. */
  beginPass(): ListState {
    this.world.time += 15_000;
    this.#requestsOfPass = 0;
    const checkpoint = parseCheckpoint(JSON.parse(JSON.stringify(this.stored.checkpoint)));
    if (checkpoint === null) throw new Error('a stored checkpoint cannot be parsed');
    this.stored = { ...this.stored, ...this.#counts(), checkpoint, passes: this.stored.passes + 1 };
    this.#knownTotal = this.stored.totalObservation;
    return this.stored;
  }

  /** Removes the answers that were taken and not written, because they are lost with the process. */
  forgetTaken(): void {
    this.taken.length = Math.min(this.taken.length, this.remembered);
  }

  #counts(): { ledgerCount: number; guests: number; conflicts: number } {
    const { ledger } = this.world;
    const guests = ledger.guests(this.index).size;
    const conflicts = guests + ledger.shownElsewhere(this.index);
    return { ledgerCount: this.ledger.size, guests, conflicts };
  }

  /** Returns the stored state of the list with current counts, which writes of other lists change. */
  current(): ListState {
    return { ...this.stored, ...this.#counts() };
  }

  #save(state: ListState): Stored {
    const { passes } = this.stored;
    const counts = this.#counts();
    const beside = this.stored.totalObservation > this.#knownTotal ? this.stored : null;
    const told = beside === null ? state : afterTotalBeside(state, beside);
    this.stored = { ...told, ...counts, passes };
    this.#knownTotal = told.totalObservation;
    this.world.onWrite?.(this);
    return { inserted: 0, ...counts, totalBeside: beside, differingDays: [] };
  }

  /** Pages fetched ahead are answered in the order that `ahead` says (fractions in [0, 1)), as on a real network. */
  port(ahead: number[] = []): ListPort<ShownPage> {
    return {
      read: this.#reader([...ahead]),
      readSized: (page, size) => this.#readSized(page, size),
      prepare: (batch, state) => {
        const taken = this.taken.length - this.storedLooks;
        const remembered = () => taken + this.storedLooks;
        return async (afterFinding) => this.#write(batch, { state, afterFinding, remembered });
      },
      ranks: this.hasTimes ? this.#ranks() : null,
      notes: this.#notes(),
      unlist: this.canUnlist
        ? async (keys, state) => {
            for (const key of keys) if (this.list.has(key)) this.wronglyUnlisted.push(key);
            this.world.onUnlist?.(this, keys);
            this.world.ledger.unlist(this.index, keys);
            this.remembered = this.taken.length;
            return this.#save(state);
          }
        : null,
      now: () => this.world.time,
      wait: async (ms) => {
        this.world.time += ms;
      },
      isBatchFull: (rows) => rows >= this.batchRows,
      shouldPause: () => this.pauseShare > 0 && this.world.luck.chance(this.pauseShare),
    };
  }

  #reader(order: number[]): ListPort<ShownPage>['read'] {
    const sent = new Map<number, number>();
    const answered = new Map<number, ShownPage>();
    const send = (page: number): void => {
      this.#observation += 1;
      sent.set(page, this.#observation);
    };
    return async (page, upTo, isFresh = false) => {
      const wasAhead = !isFresh && (sent.has(page) || answered.has(page));
      if (!wasAhead) {
        this.requests += sent.size;
        sent.clear();
        answered.clear();
      }
      for (let next = page; next <= Math.max(page, Math.min(upTo, page + this.aheadMax)); next += 1)
        if (!sent.has(next) && !answered.has(next)) send(next);
      while (!answered.has(page)) {
        const waiting = [...sent];
        const [next, observation] = waiting[Math.floor((order.shift() ?? 0) * waiting.length)] ?? [
          page,
          0,
        ];
        sent.delete(next);
        this.happen(this.#script.shift());
        answered.set(next, this.answer(next, observation));
      }
      const facts = answered.get(page);
      answered.delete(page);
      if (!facts) throw new Error('the model lost a page');
      if (!this.#refused.has(facts.observation))
        return this.#take({ ...facts, isFresh: !wasAhead });
      this.#glimpse(facts.observation);
      this.#refused.delete(facts.observation);
      if (page <= upTo) throw new LedgerError('service-refused', 'there is no such page');
      return { ...facts, ...noPage, isFresh: !wasAhead };
    };
  }

  async #readSized(page: number, size: number): Promise<ShownPage | null> {
    const { size: usual } = this;
    this.happen(this.#script.shift());
    this.#observation += 1;
    this.size = size;
    const facts = this.answer(page, this.#observation);
    this.size = usual;
    this.#glimpse(facts.observation);
    return this.#refused.delete(facts.observation) ? null : facts;
  }

  #glimpse(observation: number): void {
    const answer = this.#answers.get(observation);
    this.#answers.delete(observation);
    if (!answer) return;
    const total = this.#refused.has(observation) ? null : answer.total;
    this.glimpses.push({ taken: this.taken.length, answer: { ...answer, total } });
  }

  #ranks(): Ranks<ShownPage> {
    return {
      countUntil: async (time) =>
        [...this.ledger.values()].filter((known) => known === null || known <= time).length,
      listedButNotSeen: async (pages, { after, before }) => {
        const seen = new Set(pages.flatMap(({ keys }) => keys));
        const isIn = (time: number | null) =>
          time !== null && time > (after ?? 0) && time < (before ?? Infinity);
        return [...this.ledger]
          .filter(([key, time]) => isIn(time) && !seen.has(key))
          .map(([key]) => key);
      },
      undated: async (limit) =>
        [...this.ledger]
          .filter(([, time]) => time === null)
          .map(([key]) => key)
          .slice(0, limit),
      days: async () => {
        const rows = new Map<number, number>();
        for (const time of this.ledger.values()) {
          if (time === null) continue;
          rows.set(dayOf(time), (rows.get(dayOf(time)) ?? 0) + 1);
        }
        return [...rows].map(([day, count]) => ({ day, rows: count, verifiedAt: null }));
      },
    };
  }

  #notes(): ScanNotes {
    return {
      begin: async () => this.noted.clear(),
      count: async () => this.noted.size,
      unseen: async (limit) =>
        [...this.ledger.keys()].filter((key) => !this.noted.has(key)).slice(0, limit),
      dropUnseenGuests: async (state) => {
        this.world.ledger.dropGuests(this.index, (key) => this.noted.has(key));
        return this.#save(state);
      },
      verifyAll: async (state) => this.#save(state),
    };
  }
}
