/** The most of the moments (ms, ascending) that lie in one window of this length, its end left out. */
export function busiestWindow(momentsMs: number[], lengthMs: number): number {
  let most = 0;
  let first = 0;
  for (const [last, moment] of momentsMs.entries()) {
    while (moment - (momentsMs[first] ?? moment) >= lengthMs) first += 1;
    most = Math.max(most, last - first + 1);
  }
  return most;
}
