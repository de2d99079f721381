/** The maximum number of the moments (ms, ascending) within one window of this length, its end excluded. */
export function busiestWindow(momentsMs: number[], lengthMs: number): number {
  let most = 0;
  let first = 0;
  for (const [last, moment] of momentsMs.entries()) {
    while (moment - (momentsMs[first] ?? moment) >= lengthMs) first += 1;
    most = Math.max(most, last - first + 1);
  }
  return most;
}
