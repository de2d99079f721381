import { describe, expect, it, vi } from 'vitest';
import { createOutlook } from '../../src/queue/queue-outlook.ts';

const answer = (isWaiting: boolean, nextDueAt: number | null) => async () => ({
  rows: [{ is_waiting: isWaiting, next_due_at: nextDueAt === null ? null : String(nextDueAt) }],
});

describe('the outlook of a queue', () => {
  it('holds what was read until it is forgotten', async () => {
    const outlook = createOutlook(() => true);
    expect(outlook.current()).toBeNull();
    await outlook.reading(answer(false, 2_000));
    expect(outlook.current()).toMatchObject({ isWaiting: false, nextDueAt: 2_000 });
    expect([1_999, 2_000].map(outlook.isNothingDue)).toEqual([true, false]);
    outlook.forget();
    expect(outlook.current()).toBeNull();
    expect(outlook.isNothingDue(0)).toBe(false);
  });

  it('knows of nothing due while a job waits', async () => {
    const outlook = createOutlook(() => true);
    await outlook.reading(answer(true, null));
    expect(outlook.isNothingDue(0)).toBe(false);
    await outlook.reading(answer(false, null));
    expect(outlook.isNothingDue(Number.MAX_SAFE_INTEGER)).toBe(true);
  });

  it('does not hold what was read while something changed', async () => {
    const outlook = createOutlook(() => true);
    for (const change of [outlook.forget, () => outlook.expect({ next_due_at: '1' })]) {
      await outlook.reading(async () => {
        change();
        return await answer(false, 2_000)();
      });
      expect(outlook.current()).toBeNull();
    }
  });

  it('expects the job that was added, if it is due before the others', async () => {
    const outlook = createOutlook(() => true);
    await outlook.reading(answer(false, 2_000));
    outlook.expect({ next_due_at: '3000' });
    expect(outlook.current()?.nextDueAt).toBe(2_000);
    outlook.expect({ next_due_at: '1000' });
    expect(outlook.current()?.nextDueAt).toBe(1_000);
  });

  it('holds nothing while changes are not heard of, nor what was read before they were', async () => {
    let isListening = false;
    const outlook = createOutlook(() => isListening);
    await outlook.reading(async () => {
      isListening = true;
      return await answer(false, null)();
    });
    expect(outlook.current()).toBeNull();
    await outlook.reading(answer(false, null));
    expect(outlook.current()).not.toBeNull();
    isListening = false;
    expect(outlook.current()).toBeNull();
  });

  it('holds for five seconds at most', async () => {
    vi.useFakeTimers();
    try {
      const outlook = createOutlook(() => true);
      await outlook.reading(answer(false, null));
      vi.advanceTimersByTime(5_000);
      expect(outlook.current()).not.toBeNull();
      vi.advanceTimersByTime(1);
      expect(outlook.current()).toBeNull();
    } finally {
      vi.useRealTimers();
    }
  });
});
