/** Jobs that a worker could claim, as of one statement. `nextDueAt`: Unix ms of the first delayed job. */
export type Outlook = { isWaiting: boolean; nextDueAt: number | null };

type Row = Record<string, unknown>;

/**
 * Upper bound of the time (ms) for which an outlook is valid, because a connection that dies unnoticed loses
 * notifications.
 */
const heldMs = 5_000;

/**
 * Keeps the outlook of a queue until something may have changed it. `isListening`: changes that other sessions make
 * from now on will be noticed; an outlook that was read before that cannot be kept.
 */
export function createOutlook(isListening: () => boolean) {
  let changes = 0;
  let known: (Outlook & { readAt: number }) | null = null;

  function forget(): void {
    changes += 1;
    known = null;
  }

  function current(): Outlook | null {
    if (known && (!isListening() || performance.now() - known.readAt > heldMs)) forget();
    return known;
  }

  return {
    forget,
    current,
    isNothingDue(now: number): boolean {
      const held = current();
      return held !== null && !held.isWaiting && (held.nextDueAt === null || held.nextDueAt > now);
    },
    /** Keeps the outlook of the first row, unless something changed while it was read. */
    async reading(read: () => Promise<{ rows: Row[] }>): Promise<{ rows: Row[] }> {
      const wasListening = isListening();
      const readAt = performance.now();
      const changesBefore = changes;
      const result = await read();
      if (wasListening && changes === changesBefore) {
        const [row] = result.rows;
        const isWaiting = row?.['is_waiting'] === true;
        known = { isWaiting, nextDueAt: nextDueAtOf(row), readAt };
      }
      return result;
    },
    /** Takes the delayed job into account that this worker has just added. */
    expect(row: Row | undefined): void {
      changes += 1;
      const nextDueAt = nextDueAtOf(row);
      if (!known || nextDueAt === null) return;
      known = { ...known, nextDueAt: Math.min(nextDueAt, known.nextDueAt ?? nextDueAt) };
    },
  };
}

function nextDueAtOf(row: Row | undefined): number | null {
  const value = row?.['next_due_at'] ?? null;
  return value === null ? null : Number(value);
}
