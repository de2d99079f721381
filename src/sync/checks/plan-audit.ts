/** Choice of the days that the audit reads again. Pure. */
import { dayMs, dayOf } from '../list/read-days.ts';

export type HeldDay = { day: number; rows: number; verifiedAt: number | null };
/** Days from `first` to `last` (days since 1970), both included. */
export type DayRange = { first: number; last: number };

const hourMs = 3_600_000;
const recentDays = 7;

/**
 * Chooses the days to read: today and yesterday every hour, and the last week every day. Adds the days with the oldest
 * verification until they hold `share` of all rows. The share includes recent days, so that a short AUDIT_CYCLE holds
 * for them. Adjacent days form one range. `now` is in Unix ms.
 */
export function planAudit(held: HeldDay[], now: number, share: number): DayRange[] {
  const today = dayOf(now);
  const ageOf = ({ verifiedAt }: HeldDay) => now - (verifiedAt ?? 0);
  const chosen = new Set<number>();
  for (const one of held) {
    const isLast = one.day >= today - 1 && ageOf(one) >= hourMs;
    const isRecent = one.day > today - recentDays && ageOf(one) >= dayMs;
    if (isLast || isRecent) chosen.add(one.day);
  }
  const rowsMax = share * held.reduce((rows, one) => rows + one.rows, 0);
  const marked = held.filter(({ verifiedAt }) => verifiedAt !== null);
  const oldest = marked.sort((a, b) => (a.verifiedAt ?? 0) - (b.verifiedAt ?? 0) || b.day - a.day);
  const unmarked = inTurn(
    held.filter(({ verifiedAt }) => verifiedAt === null),
    now,
  );
  // A day with a row that cannot be stored never gets a mark, and must not displace the other days.
  const rowsUnmarked = take(chosen, unmarked, marked.length > 0 ? rowsMax / 2 : rowsMax);
  take(chosen, oldest, rowsMax - Math.min(rowsUnmarked, rowsMax / 2));
  return rangesOf(
    held.map(({ day }) => day),
    chosen,
  );
}

/** Chooses days until they hold `rowsMax` rows. Returns the rows chosen. */
function take(chosen: Set<number>, days: HeldDay[], rowsMax: number): number {
  let rows = 0;
  for (const one of days) {
    if (rows >= rowsMax) break;
    chosen.add(one.day);
    rows += one.rows;
  }
  return rows;
}

/** Returns the days newest first, beginning with a different day every hour. */
function inTurn(days: HeldDay[], now: number): HeldDay[] {
  const sorted = days.sort((a, b) => b.day - a.day);
  const first = Math.floor(now / hourMs) % Math.max(1, sorted.length);
  return [...sorted.slice(first), ...sorted.slice(0, first)];
}

/**
 * Returns the chosen days as ranges, newest first. A day without listed rows belongs to the range of its neighbours.
 */
function rangesOf(heldDays: number[], chosen: ReadonlySet<number>): DayRange[] {
  const ranges: DayRange[] = [];
  let current: DayRange | null = null;
  for (const day of [...heldDays].sort((a, b) => a - b)) {
    if (!chosen.has(day)) {
      current = null;
    } else if (current === null) {
      current = { first: day, last: day };
      ranges.push(current);
    } else {
      current.last = day;
    }
  }
  return ranges.reverse();
}
