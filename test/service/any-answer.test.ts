import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { LedgerError } from '../../src/kernel/errors.ts';
import { retryDelayMs } from '../../src/kernel/retry-delay.ts';
import { readTime, Unreadable } from '../../src/service/decoding/field-readers.ts';
import { openEnvelope } from '../../src/service/decoding/open-envelope.ts';
import { parseRetryAfterMs } from '../../src/service/transport/retry-after.ts';
import { forAll, forAllSync } from '../support/for-all.ts';
import { makeClient } from '../support/make-client.ts';
import { pageOf, send, startScriptedService } from '../support/scripted-service.ts';

const service = await startScriptedService();
afterAll(() => service.close());

const query = { type: 'deposit', pageNo: 1, pageSize: 10 } as const;
const good = JSON.stringify({ code: 0, data: pageOf([]) });
const quick = { attemptsMax: 4, baseDelayMs: 1, delayMaxMs: 2 };

/** Random bytes, and bytes that begin like an answer. */
const bodies = fc.oneof(
  fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
  fc.json().map((json) => Buffer.from(json)),
  fc
    .record({ code: fc.jsonValue(), data: fc.jsonValue(), msg: fc.jsonValue() })
    .map((envelope) => Buffer.from(JSON.stringify(envelope))),
  fc
    .tuple(fc.constantFrom('list', 'data', 'pageNo', 'totalSize'), fc.jsonValue())
    .map(([name, value]) =>
      Buffer.from(JSON.stringify({ code: 0, data: { list: [], [name]: value } })),
    ),
  fc.nat(good.length).map((length) => Buffer.from(good.slice(0, length))),
);

describe('any answer', () => {
  it('[H2 H3 H4 H7 V13] of any bytes is a page or a described error', async () => {
    await forAll(bodies, fc.constantFrom(200, 204, 400, 500))(400, async (body, status) => {
      service.answer((_seen, response) => send(response, status, body));
      const { client } = await makeClient(service.baseUrl, { retry: { ...quick, attemptsMax: 1 } });
      const end = await client.listTransactions(query).catch((thrown: unknown) => thrown);
      if (end instanceof LedgerError) expect(end.code).toMatch(/^service-/);
      else expect(end).toMatchObject({ records: expect.any(Array), listed: expect.any(Number) });
    });
  }, 60_000);

  it('[H7] of any text is an envelope or reported as none', () => {
    const texts = fc.oneof(fc.string({ unit: 'binary' }), fc.json(), fc.string());
    forAllSync(texts)(2_000, (text) => {
      const envelope = openEnvelope(text);
      const said = 'problem' in envelope ? envelope.problem : envelope.code;
      expect(said.trim()).not.toBe('');
    });
  });
});

describe('any sequence of answers', () => {
  type Said = { status: number; body: string; retryAfter: string | null };
  const answers = fc.array(
    fc.record<Said>({
      status: fc.constantFrom(200, 200, 204, 302, 400, 401, 403, 404, 408, 429, 429, 500, 502, 503),
      body: fc.constantFrom(good, '', '<html>', '{"code":7}', '{"code":0,"data":[]}'),
      retryAfter: fc.option(
        fc.oneof(fc.nat(200_000).map(String), fc.string(), fc.date().map(String)),
      ),
    }),
    { minLength: 1, maxLength: 8 },
  );
  const play = (sequence: Said[]) =>
    service.answer(
      ...sequence.map(({ status, body, retryAfter }) => {
        const isHeader = retryAfter !== null && /^[\x20-\x7e]*$/.test(retryAfter);
        const headers = isHeader ? { 'retry-after': retryAfter } : {};
        return (_seen: unknown, response: Parameters<typeof send>[0]) =>
          send(response, status, status === 204 ? '' : body, headers);
      }),
    );

  it('[H8 H9 H10] costs a read at most the allowed attempts, each with its own nonce, and pauses of at most two minutes', async () => {
    await forAll(answers)(200, async (sequence) => {
      play(sequence);
      const { client, tickets, pauses } = await makeClient(service.baseUrl, { retry: quick });
      await client.listTransactions(query).catch(() => undefined);
      expect(service.seen.length).toBeLessThanOrEqual(quick.attemptsMax);
      expect(service.seen.map(({ headers }) => headers['biz-api-nonce'])).toEqual(tickets);
      for (const ms of pauses) expect(ms).toBeLessThanOrEqual(120_000);
      const refused = sequence.findIndex(({ status }) => [401, 403].includes(status));
      if (refused >= 0) expect(service.seen.length).toBeLessThanOrEqual(refused + 1);
    });
  }, 60_000);

  it('[A1 A6 H12] costs an address request only one attempt', async () => {
    await forAll(answers)(100, async (sequence) => {
      play(sequence);
      const { client } = await makeClient(service.baseUrl, { retry: quick });
      await client.generateAddresses({ slip44: 60, num: 1 }).catch(() => undefined);
      expect(service.seen).toHaveLength(1);
    });
  }, 60_000);

  it('[H9] causes a wait of Retry-After, between zero and two minutes', () => {
    const now = Date.UTC(2026, 0, 1);
    forAllSync(fc.nat(1_000_000))(100, (seconds) => {
      const expected = Math.min(seconds * 1_000, 120_000);
      const told = parseRetryAfterMs(new Headers({ 'retry-after': String(seconds) }), now);
      expect(told ?? 0).toBe(seconds === 0 ? (told ?? 0) : expected);
    });
    const headerText = fc.stringMatching(/^[\x20-\x7e]*$/);
    forAllSync(headerText)(100, (header) => {
      const ms = parseRetryAfterMs(new Headers({ 'retry-after': header }), now);
      if (ms !== null) expect(ms).toBeGreaterThanOrEqual(0);
      expect(ms ?? 0).toBeLessThanOrEqual(120_000);
    });
  });

  it('[H10] causes a backoff with jitter, never beyond the longest delay', () => {
    const policy = { attemptsMax: 8, baseDelayMs: 150, delayMaxMs: 5_000 };
    const drawn = forAllSync(
      fc.integer({ min: 1, max: 2_000 }),
      fc.double({ min: 0, max: 0.999, noNaN: true }),
    );
    drawn(100, (attempt, random) => {
      const ms = retryDelayMs(attempt, policy, random);
      const ceiling = Math.min(policy.delayMaxMs, policy.baseDelayMs * 2 ** (attempt - 1));
      expect(ms).toBeGreaterThanOrEqual(Math.floor(ceiling / 2));
      expect(ms).toBeLessThanOrEqual(ceiling);
    });
  });
});

describe('any time', () => {
  it('[V7] is a moment between 2009 and tomorrow, or null with a reason, and never throws', () => {
    const now = Date.UTC(2026, 0, 1);
    const values = fc.oneof(
      fc.double(),
      fc.bigInt().map(String),
      fc.integer({ min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER }),
      fc.integer({ min: Date.UTC(2008, 0, 1), max: now + 3 * 86_400_000 }),
      fc.integer({ min: Date.UTC(2008, 0, 1), max: now + 3 * 86_400_000 }).map(String),
      fc.string(),
      fc.anything(),
    );
    forAllSync(values)(5_000, (value) => {
      const read = readTime(value, now);
      if (read instanceof Unreadable) {
        expect(read.stored).toBeNull();
        expect(read.reason).not.toBe('');
      } else {
        expect(read).toBe(Number(value));
        expect(read).toBeGreaterThanOrEqual(Date.UTC(2009, 0, 1));
        expect(read).toBeLessThanOrEqual(now + 86_400_000);
      }
    });
  });
});
