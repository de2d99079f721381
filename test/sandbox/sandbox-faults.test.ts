import { describe, expect, test } from 'vitest';
import {
  createFaultPicker,
  createFaults,
  type FaultKind,
  type Faults,
} from '../../src/sandbox/sandbox-faults.ts';
import { call, callJson } from './signed-call.ts';
import { withSandbox } from './with-sandbox.ts';

const coin = '/v1/wallet/coin';

function faultsWith(given: Partial<Faults>): Faults {
  return { ...createFaults({ faultRate: 0, hangMs: 0 }), ...given };
}

describe('a fault on demand', () => {
  test('rate-limit answers 429 with Retry-After', async () => {
    const sandbox = await withSandbox();
    sandbox.faults.next.push('rate-limit');
    const answer = await call(sandbox, coin);
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '1']);
    expect((await call(sandbox, coin)).status).toBe(200);
    expect(sandbox.stats.faults['rate-limit']).toBe(1);
  });

  test('server-error answers 500, error-code an error code with 200, html a page with 200', async () => {
    const sandbox = await withSandbox();
    sandbox.faults.next.push('server-error', 'error-code', 'html');
    expect((await call(sandbox, coin)).status).toBe(500);
    const coded = await call(sandbox, coin);
    expect([coded.status, await coded.json()]).toMatchObject([200, { code: 50001 }]);
    const page = await call(sandbox, coin);
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html']);
    expect(await page.text()).toContain('<html>');
  });

  test('cut-body cuts the answer half-way', async () => {
    const sandbox = await withSandbox();
    sandbox.faults.next.push('cut-body');
    const answer = await call(sandbox, coin);
    expect(answer.status).toBe(200);
    await expect(answer.text()).rejects.toThrow(/terminated/);
  });

  test('reset ends the connection without an answer', async () => {
    const sandbox = await withSandbox();
    sandbox.faults.next.push('reset');
    await expect(call(sandbox, coin)).rejects.toMatchObject({ cause: { code: 'ECONNRESET' } });
  });

  test('hang sends nothing until it resets', async () => {
    const sandbox = await withSandbox({ hangMs: 100 });
    sandbox.faults.next.push('hang');
    const began = performance.now();
    await expect(call(sandbox, coin)).rejects.toThrow();
    expect(performance.now() - began).toBeGreaterThanOrEqual(95);
  });

  test('lost-answer waits for a POST, generates, and resets', async () => {
    const sandbox = await withSandbox();
    sandbox.faults.next.push('lost-answer');
    expect((await callJson(sandbox, coin)).code).toBe(0);
    const body = '{"slip44":2,"num":4}';
    await expect(call(sandbox, '/v1/wallet/address', { body })).rejects.toThrow();
    expect(sandbox.world.generated(2)).toBe(4);
    expect(sandbox.faults.next).toEqual([]);
  });

  test('affects only matching paths', async () => {
    const sandbox = await withSandbox();
    Object.assign(sandbox.faults, { rate: 1, kinds: ['server-error'], match: '/balance' });
    expect((await call(sandbox, coin)).status).toBe(200);
    expect((await call(sandbox, '/v1/wallet/balance')).status).toBe(500);
  });

  test('causes no further work of the endpoint if it answers first', async () => {
    const sandbox = await withSandbox();
    const body = '{"slip44":2}';
    for (const kind of ['rate-limit', 'server-error', 'error-code', 'html', 'reset'] as const) {
      sandbox.faults.next.push(kind);
      await call(sandbox, '/v1/wallet/address', { body }).catch(() => null);
      expect(sandbox.stats.faults[kind]).toBe(1);
    }
    expect(sandbox.world.generated(2)).toBe(0);
  });
});

describe('faults at a rate', () => {
  const draws = (faults: Faults, method: string, count: number) => {
    const pick = createFaultPicker(11, faults);
    return Array.from({ length: count }, () => pick({ method, path: '/x' }));
  };

  test('have the configured share, all kinds except lost answers, few hangs, and depend on the seed', () => {
    const picks = draws(faultsWith({ rate: 0.2 }), 'GET', 20_000);
    const counts = new Map<FaultKind | null, number>();
    for (const pick of picks) counts.set(pick, (counts.get(pick) ?? 0) + 1);
    expect(picks.length - counts.get(null)!).toBeGreaterThan(3_700);
    expect(picks.length - counts.get(null)!).toBeLessThan(4_300);
    expect(counts.size).toBe(8);
    expect(counts.get('hang')).toBeLessThan(150);
    expect(draws(faultsWith({ rate: 0.2 }), 'GET', 20_000)).toEqual(picks);
  });

  test('lose only the answers of address generations', () => {
    const lost = (method: string) =>
      draws(faultsWith({ lostPostRate: 0.5 }), method, 1_000).filter((k) => k === 'lost-answer');
    expect(lost('GET')).toHaveLength(0);
    expect(lost('POST').length).toBeGreaterThan(400);
    expect(draws(faultsWith({ rate: 1, kinds: ['lost-answer'] }), 'GET', 1)).toEqual([null]);
  });
});
