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
  let rowsLeft = share * held.reduce((rows, one) => rows + one.rows, 0);
  const oldest = [...held].sort(
    (a, b) => (a.verifiedAt ?? 0) - (b.verifiedAt ?? 0) || b.day - a.day,
  );
  for (const one of oldest) {
    if (rowsLeft <= 0) break;
    chosen.add(one.day);
    rowsLeft -= one.rows;
  }
  return rangesOf(
    held.map(({ day }) => day),
    chosen,
  );
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
