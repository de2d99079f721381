import type { BalanceStatus } from '../ledger/read-status.ts';

export const drawingSize = { width: 120, height: 24 } as const;

/** `points` of an SVG polyline: the balance as steps from its first known change until `readAt`; null: no line yet. */
export function drawBalance(history: BalanceStatus['history'], readAt: string): string | null {
  const known = history.flatMap(({ at, balance }) =>
    // Only a picture: digits beyond a number's precision do not show.
    balance === null ? [] : [{ time: Date.parse(at), value: Number(balance) }],
  );
  const [first] = known;
  if (first === undefined || known.length < 2) return null;
  const end = Math.max(Date.parse(readAt), ...known.map(({ time }) => time));
  const values = known.map(({ value }) => value);
  const lowest = Math.min(...values);
  const x = scale(first.time, end, drawingSize.width);
  const y = scale(lowest, Math.max(...values), drawingSize.height);
  const corners = known.flatMap(({ time, value }, index) => [
    [time, known[index - 1]?.value ?? value],
    [time, value],
  ]);
  return [...corners, [end, known.at(-1)?.value ?? lowest]]
    .map(([time = 0, value = 0]) => `${x(time)},${drawingSize.height - y(value)}`)
    .join(' ');
}

function scale(from: number, to: number, size: number): (value: number) => number {
  const span = to - from;
  if (!Number.isFinite(span) || span <= 0) return () => size / 2;
  return (value) => Math.round(((value - from) / span) * size * 10) / 10;
}
