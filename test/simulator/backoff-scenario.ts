/**
 * Processes that call a failing service: the product's request sender with its slots, deadlines and tickets, down to
 * the bytes that it passes to the network.
 */
import { LedgerError } from '../../src/kernel/errors.ts';
import { shareTickets, type TicketPort } from '../../src/ledger/ticket-source.ts';
import {
  createServiceTransport,
  type TransportOptions,
} from '../../src/service/transport/call-service.ts';
import { type OutgoingRequest, ReadResponse } from '../../src/service/transport/pooled-fetch.ts';
import { quietLog } from './quiet-log.ts';
import type { Scenario } from './scenario.ts';
import { createSimulation, type Simulation, type Task } from './simulation.ts';
import { letTimeBe } from './virtual-time.ts';

export type BackoffDecisions = { retry: TransportOptions['retry'] };

/** Limits that the product promises by default. */
const attemptsMax = 8;
const delayMaxMs = 5_000;
const pauseMaxMs = 120_000;
const timeoutMs = 10_000;
/** Answers are streams: they need a turn of the loop. */
const afterMicrotasksOfStreams = () => new Promise<void>((resolve) => setImmediate(resolve));

type CallFacts = { method: string; attempts: number; startedAt: number; endedAt: number | null };
type TicketFacts = { takenAt: number; owner: string };

class BackoffWorld {
  readonly sim: Simulation;
  /** Share of requests that fail, 0 to 1; at 1 the service never succeeds. */
  readonly faultRate: number;
  readonly decisions: BackoffDecisions;
  ended = 0;
  #calls = new Map<string, CallFacts>();
  #taken = new Map<string, TicketFacts>();
  #observation = 0;
  #pausedAt = -1;
  #pausedUntil = 0;
  #pausedBy = '';
  #refusals = 0;
  /** Pauses per process that the service requested and that are still due. */
  #asked = new Map<string, number[]>();

  constructor(sim: Simulation, decisions: BackoffDecisions) {
    this.sim = sim;
    this.decisions = decisions;
    this.faultRate = sim.random.pick([0.3, 0.7, 1]);
  }

  async process(task: Task, owner: string): Promise<void> {
    const { sim } = this;
    const { call } = createServiceTransport({
      baseUrl: 'http://service.test',
      signer: { apiKey: 'key', sign: () => ({ signature: 's', headers: { 'x-owner': owner } }) },
      tickets: shareTickets(this.#tickets(task, owner), null),
      concurrency: 2,
      timeoutMs,
      clock: sim.now,
      fetch: (request, signal) => this.fetch(request, signal),
      log: quietLog,
      random: () => sim.random.next(),
      ...(this.decisions.retry && { retry: this.decisions.retry }),
    });
    const calls = Array.from({ length: 1 + sim.random.below(2) }, async (_, n) => {
      const path = `/v1/${owner}-${n}`;
      const method = sim.random.pick(['GET', 'GET', 'POST']);
      const known = { method, attempts: 0, startedAt: sim.now(), endedAt: null };
      this.#calls.set(path, known);
      const decode = (data: unknown) => data;
      const json = method === 'POST' ? { json: { num: 1 } } : {};
      await call({ lane: 'head', method, path, decode, ...json }).catch((error) => {
        if (!(error instanceof LedgerError)) throw error;
      });
      this.#checkTotal(path, known);
    });
    await Promise.all(calls);
    this.ended += 1;
  }

  #checkTotal(path: string, { attempts, startedAt }: CallFacts): void {
    const tookMs = this.sim.now() - startedAt;
    const budgetMs = attemptsMax * (timeoutMs + delayMaxMs) + this.#refusals * pauseMaxMs;
    if (attempts > attemptsMax) this.sim.violate(`${path}: ${attempts} attempts`);
    if (tookMs > budgetMs) this.sim.violate(`${path} took ${tookMs} ms of ${budgetMs}`);
  }

  /** Tickets and pauses with the results of `ledger.take_tickets` and `ledger.pause_requests`. */
  #tickets(task: Task, owner: string): TicketPort {
    const { sim } = this;
    return {
      take: async (count) => {
        await sim.enter(task);
        return Array.from({ length: count }, () => {
          this.#observation += 1;
          const nonce = String(this.#observation);
          this.#taken.set(nonce, { takenAt: sim.now(), owner });
          const wait_ms = Math.max(0, this.#pausedUntil - sim.now());
          return { observation: nonce, nonce, wait_ms, asked_ms: sim.now() };
        });
      },
      pause: async (ms) => {
        await sim.enter(task);
        this.#checkPause(owner, ms);
        this.#pausedUntil = Math.max(this.#pausedUntil, sim.now() + ms);
        this.#pausedAt = sim.now();
        this.#pausedBy = owner;
      },
      pausedMs: async () => this.#pausedUntil - sim.now(),
      clock: async () => sim.now(),
      disturbHome: async (reason) => sim.violate(reason),
    };
  }

  /** The service. */
  async fetch(request: OutgoingRequest, signal: AbortSignal): Promise<Response> {
    const { sim } = this;
    const { random } = sim;
    const path = request.url.pathname;
    this.#checkSending(path, request);
    const facts = this.#calls.get(path);
    await sim.sleep(random.below(3_000), signal);
    const ended = () => {
      if (facts) facts.endedAt = sim.now();
    };
    if (!random.chance(this.faultRate)) return ok('{"code":0,"msg":"","data":{}}');
    const what = random.below(6);
    if (what === 0) return await this.#never(signal, ended);
    ended();
    if (what === 1) throw new TypeError('fetch failed');
    if (what === 2) return answered('', 503);
    if (what === 3) return ok('{"code":7,"msg":"busy","data":null}');
    if (what === 4) return ok('<html>');
    this.#refusals += 1;
    const seconds = random.pick([null, '1', '40', '100000', 'soon']);
    const owner = request.headers['x-owner'] ?? '';
    const known = this.#asked.get(owner) ?? [];
    this.#asked.set(owner, [...known, Math.min(pauseMaxMs, Number(seconds ?? 0) * 1_000 || 0)]);
    return answered('', 429, seconds ? { 'retry-after': seconds } : {});
  }

  async #never(signal: AbortSignal, ended: () => void): Promise<Response> {
    return await new Promise((_, reject) => {
      signal.addEventListener('abort', () => {
        ended();
        reject(signal.reason);
      });
    });
  }

  /** A pause is as long as the answer requested, or (0) as long as the backoff would have been. */
  #checkPause(owner: string, ms: number): void {
    const asked = this.#asked.get(owner) ?? [];
    const index = asked.findIndex((each) => each === ms || (each === 0 && ms <= delayMaxMs));
    if (index < 0) this.sim.violate(`a pause of ${ms} ms where ${asked.join(', ')} were asked for`);
    else asked.splice(index, 1);
  }

  #checkSending(path: string, request: OutgoingRequest): void {
    const { sim } = this;
    const facts = this.#calls.get(path);
    const ticket = this.#taken.get(request.headers['biz-api-nonce'] ?? '');
    if (!facts || !ticket) {
      sim.violate(`${path} was sent without a ticket`);
      return;
    }
    this.#taken.delete(request.headers['biz-api-nonce'] ?? '');
    facts.attempts += 1;
    if (facts.method === 'POST' && facts.attempts > 1) sim.violate(`${path}: a POST was repeated`);
    if (facts.attempts > attemptsMax) sim.violate(`${path}: ${facts.attempts} attempts`);
    const isBound = ticket.takenAt >= this.#pausedAt || ticket.owner === this.#pausedBy;
    if (isBound && this.#pausedAt >= 0 && sim.now() < this.#pausedUntil)
      sim.violate(`${path} was sent ${this.#pausedUntil - sim.now()} ms before a pause was over`);
    const isFree = facts.endedAt !== null && this.#pausedUntil < facts.endedAt;
    const waitedMs = sim.now() - (facts.endedAt ?? 0);
    if (isFree && waitedMs > delayMaxMs) sim.violate(`${path} waited ${waitedMs} ms for a repeat`);
  }
}

function ok(text: string): Response {
  return answered(text, 200, { 'content-type': 'application/json' });
}

/** Answers like the program's own fetch: with the whole body read. */
function answered(text: string, status: number, headers: Record<string, string> = {}): Response {
  return new ReadResponse(Buffer.from(text), status, headers);
}

export const backoffScenario: Scenario<BackoffDecisions> = {
  name: 'backoff',
  decisions: { retry: undefined },
  async play(seed, decisions) {
    const sim = createSimulation(seed, { drain: afterMicrotasksOfStreams, stepsMax: 5_000 });
    letTimeBe(sim);
    const world = new BackoffWorld(sim, decisions);
    const owners = ['a', 'b'].slice(0, 1 + sim.random.below(2));
    for (const owner of owners) sim.start(owner, (task) => world.process(task, owner));
    await sim.drive(() => world.ended === owners.length);
    if (sim.violations.length === 0 && world.ended < owners.length)
      sim.violate('a call never ended');
    return sim;
  },
};
